"""Records what a PyTorch program of GRIST's data set computes, and exports the loss of its first step.

Such a program has no graph: it calls operators one by one. They are recorded as they come, and what the loss needs of
them is run again as a module that ``torch.onnx`` exports. The input that the search steers and the data are its inputs,
and what requires a gradient are its parameters.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

REACH = 1000.0
"""How far the search may take an input that the program does not limit: each of its steps goes 0.15 further."""

THROUGH = frozenset({"abs", "amax", "amin", "max", "mean", "min", "mul", "neg", "rsub", "sub", "sum"})
"""Reductions, magnitudes and signs of objectives; behind them is the operand of the defect."""

Key = tuple[Any, ...]
Place = tuple[int, int]


def key_of(tensor: torch.Tensor) -> Key:
    """What a tensor shares with another view of the same elements; true of it as long as it is kept."""
    storage = tensor.untyped_storage().data_ptr()
    return storage, tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor.dtype


def tensors(values: Any) -> list[torch.Tensor]:
    """In the order of the arguments or results that hold them."""
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]


@dataclass
class Call:
    """An operator that was called.

    Attributes:
        operator: an overload of ``torch.ops``.
        args: by place.
        kwargs: by name.
        results: tensors that it gave.
    """

    operator: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    results: list[torch.Tensor]

    def reads(self) -> list[torch.Tensor]:
        return tensors((self.args, self.kwargs))

    def renames(self) -> bool:
        """Whether it only gives another name to what it reads."""
        read = {key_of(t) for t in self.reads()}
        return self.operator.is_view and all(key_of(t) in read for t in self.results)


class Recorder(TorchDispatchMode):
    """Keeps every call, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the operator and keep it."""
        del types
        result = func(*args, **(kwargs or {}))
        self.calls.append(Call(func, args, kwargs or {}, tensors(result)))
        return result


@dataclass
class Step:
    """What the loss needs of the calls.

    Attributes:
        calls: those that depend on the input or a parameter.
        inputs: the input that is steered, and other data.
        parameters: leaves that require a gradient.
        constants: whole numbers, such as indices.
        steered: values that the loss needs and that the objective is about, the last one first.
    """

    calls: list[Call]
    inputs: dict[Key, torch.Tensor]
    parameters: dict[Key, torch.Tensor] = field(default_factory=dict)
    constants: dict[Key, torch.Tensor] = field(default_factory=dict)
    steered: list[Key] = field(default_factory=list)

    def computed(self) -> list[Key]:
        """What is steered and is neither an input nor a parameter."""
        return [k for k in self.steered if k not in self.inputs and k not in self.parameters]


def is_parameter(tensor: torch.Tensor) -> bool:
    """Whether it requires a gradient and nothing computes it."""
    return tensor.requires_grad and tensor.is_leaf


def dependent(calls: Iterable[Call], root: Key) -> list[Call]:
    """The calls whose results depend on the input or on a parameter."""
    keys, found = {root}, list[Call]()
    for call in calls:
        made = {key_of(t) for t in call.results}
        starts = root in made or any(is_parameter(t) for t in call.results)  # such as ``uniform_`` of a layer
        if starts or call.renames() or not any(key_of(t) in keys or is_parameter(t) for t in call.reads()):
            continue
        keys |= made
        found.append(call)
    return found


def step_of(calls: Sequence[Call], loss: torch.Tensor, objective: torch.Tensor, data: torch.Tensor) -> Step:
    """What a loss needs, from the input on that the search steers."""
    root = key_of(data)
    found = dependent(calls, root)
    needed, taken = {key_of(loss)}, list[Call]()
    for call in reversed(found):
        if needed.isdisjoint(key_of(t) for t in call.results):
            continue
        taken.insert(0, call)
        needed.update(key_of(t) for t in call.reads())
    step = Step(taken, {root: data} if root in needed else {})
    made = {root}
    for call in taken:
        for tensor in call.reads():
            key = key_of(tensor)
            if key in made:
                continue
            kind = step.parameters if is_parameter(tensor) else step.inputs
            (kind if tensor.is_floating_point() else step.constants).setdefault(key, tensor)
        made.update(key_of(t) for t in call.results)
    step.steered = [k for k in operands_of(calls, objective) if k in needed and k not in step.constants]
    return step


def operands_of(calls: Sequence[Call], objective: torch.Tensor) -> list[Key]:
    """What an objective is about, behind reductions, magnitudes and signs."""
    found, pending = list[Key](), [key_of(objective)]
    while pending:
        key = pending.pop()
        found.append(key)
        maker = next((c for c in reversed(calls) if not c.renames() and key in map(key_of, c.results)), None)
        if maker is not None and maker.operator.overloadpacket.__name__ in THROUGH:
            pending.extend(key_of(t) for t in maker.reads())
    return found


class Again(torch.nn.Module):
    """Runs the calls of a step again.

    Its inputs are those of the step and then the parameters, so that nothing is computed of them in advance. Its
    results are the loss and the values that are steered.
    """

    def __init__(self, step: Step, loss: Key) -> None:
        super().__init__()
        self._calls, self._results = step.calls, [loss, *step.computed()]
        self._inputs = [*step.inputs, *step.parameters]
        self._held = list[tuple[Key, str]]()
        for number, (key, tensor) in enumerate(step.constants.items()):
            self._held.append((key, f"constant_{number}"))
            self.register_buffer(f"constant_{number}", tensor.detach().clone())

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Every call of the step on the values that the calls before it gave."""
        values = dict(zip(self._inputs, inputs, strict=True))
        values.update((key, getattr(self, name)) for key, name in self._held)
        for call in self._calls:
            args, kwargs = tree_map(
                lambda v: values[key_of(v)] if isinstance(v, torch.Tensor) else v, (call.args, call.kwargs)
            )
            for tensor, value in zip(call.results, tensors(call.operator(*args, **kwargs)), strict=True):
                values[key_of(tensor)] = value
        return tuple(values[key] for key in self._results)


def exported(step: Step, loss: torch.Tensor, *, limited: bool) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """The step as a model whose output is the loss, and what is said of it beside it.

    Args:
        step: of the program.
        loss: its result.
        limited: whether the search keeps the input within the data's range.
    """
    from irfuzz.frontends.workers.torch import exported_program

    again = Again(step, key_of(loss))
    data = [t.detach().clone() for t in (*step.inputs.values(), *step.parameters.values())]
    model = onnx.load_model_from_string(exported_program(torch.export.export(again, tuple(data))))
    held, keys = len(step.inputs), [*step.inputs, *step.parameters]
    called = dict(zip(keys, [value.name for value in model.graph.input], strict=True))
    called.update(zip(step.computed(), [value.name for value in model.graph.output[1:]], strict=True))
    parameters = [value.name for value in model.graph.input[held:]]
    del model.graph.input[held:]
    model.graph.initializer.extend(
        onnx.numpy_helper.from_array(tensor.numpy(), name) for name, tensor in zip(parameters, data[held:], strict=True)
    )
    model.metadata_props.add(key="irfuzz.parameters", value=json.dumps(parameters))
    names = [value.name for value in model.graph.input]
    ranges = {n: [float(t.min()), float(t.max())] for n, t in zip(names, data, strict=False) if t.numel()}
    if not limited and names:
        low, high = ranges[names[0]]
        ranges[names[0]] = [low - REACH, high + REACH]
    del model.graph.output[1:]
    return model, {
        "outputs": [model.graph.output[0].name],
        "ranges": ranges,
        "steered": [called[k] for k in step.steered if k in called],
    }
