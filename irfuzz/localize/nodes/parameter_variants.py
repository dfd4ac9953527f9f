"""Varies one parameter of a program of one layer at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import AttributeProto, helper, numpy_helper

from irfuzz.errors import InvalidProgram
from irfuzz.ir.program import Program
from irfuzz.ir.value import is_constant
from irfuzz.spec import AttrSpec, OpSpec, Specs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from irfuzz.execute.run_types import Value

MOST = 8
"""So many values of a parameter are tried, at most."""

_FACTORS = (0.0, 0.5, 2.0, 10.0, 100.0)
"""What a number is multiplied by, where nothing says what values it may have."""

NUMBERS = frozenset({"INT", "FLOAT", "STRING", "INTS", "FLOATS"})
"""Types of the attributes whose values are changed."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A layer with another value of a parameter.

    Attributes:
        parameter: attribute, or an optional input.
        was: its value, as text.
        now: the other one; ``omitted`` for an input, or an attribute without a default, that is left out.
        program: of that layer alone.
        feeds: values of its inputs.
        given: the layer gives the value itself; otherwise it is the default.
        dropped: other attributes of the layer, not at their defaults, that had to go with it.
    """

    parameter: str
    was: str
    now: str
    program: Program
    feeds: Mapping[str, Value]
    given: bool = True
    dropped: tuple[str, ...] = ()


def variants(program: Program, feeds: Mapping[str, Value], specs: Specs) -> Iterator[Variant]:
    """The layer with other values of every parameter: of attributes, and without each of its optional inputs.

    Values that ONNX does not allow for the layer's inputs are left out; those that no rule knows to be wrong are not.

    Args:
        program: as ``Cutter.cut`` gives it: a node, and perhaps constants.
        feeds: values of its inputs.
        specs: of the operators.
    """
    model = program.to_proto()
    place = next((i for i, n in enumerate(model.graph.node) if not is_constant(n)), None)
    if place is None:
        return
    node = model.graph.node[place]
    spec = specs.get(node.op_type, program.opset, node.domain) if node.domain in ("", "ai.onnx") else None
    if spec is None:
        return
    given = {a.name: a for a in node.attribute}
    full = _with_all_outputs(model, place, spec)
    for name, attr in spec.attrs.items():
        if attr.type not in NUMBERS:
            continue
        was: Any = plain(helper.get_attribute_value(given[name])) if name in given else attr.default
        if was is None:
            continue
        tried = 0
        for now in other_values(attr, was):
            made = _with_attribute(model, place, name, now, feeds) or _with_attribute(full, place, name, now, feeds)
            if made is not None:
                dropped = tuple(a.name for a in node.attribute if _excluded(a, name, now) and not _default(spec, a))
                yield Variant(name, text_of(was), text_of(now), made, feeds, given=name in given, dropped=dropped)
                tried += 1
            if tried == MOST:
                break
        if name in given and attr.default is None and not attr.required:
            made = _with_attribute(model, place, name, None, feeds)
            if made is not None:
                yield Variant(name, text_of(was), "omitted", made, feeds)
    for position, value in enumerate(node.input):
        formal = spec.formal(position)
        if value and formal is not None and formal.option == "optional":
            made = _without_input(model, place, position)
            if made is not None:
                names = {v.name for v in made.graph.inputs}
                yield Variant(formal.name, value, "omitted", made, {n: v for n, v in feeds.items() if n in names})


def _with_all_outputs(model: onnx.ModelProto, place: int, spec: OpSpec) -> onnx.ModelProto:
    """The model with all outputs that the operator has: some values ask for those that others do without."""
    full = _copy(model)
    node = full.graph.node[place]
    for formal in spec.outputs[len(node.output) :]:
        if formal.option == "optional":
            node.output.append(f"{node.output[0]}_{formal.name}")
    return full


def other_values(attr: AttrSpec, was: Any) -> list[Any]:
    """Values to try of an attribute instead of ``was``, those that take it out of play first."""
    found: list[Any] = []
    if isinstance(was, list):
        found += [plain(attr.default)] if attr.default is not None else []
        found += [[v] * len(was) for v in (1, 0)] + [sorted(was), was[::-1], [v + 1 for v in was], [2] * len(was)]
        if attr.type == "FLOATS":
            found = [[float(v) for v in one] for one in found]
    else:
        domain = attr.domain
        if attr.default is not None:
            found.append(attr.default)
        for values in () if domain is None else (domain.one_of or (), domain.pick or ()):
            found += values
        if isinstance(was, int):
            found += [0, 1, was + 1, was - 1]
        elif isinstance(was, float):
            found += [was * f for f in _FACTORS] + [1.0]
    if attr.name == "group":
        found = [1]
    unique: list[Any] = []
    for value in found:
        if type(value) is type(was) and value != was and value not in unique:
            unique.append(value)
    return unique


def plain(value: Any) -> Any:
    """An attribute's value as the schema's defaults are held."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return list(value) if not isinstance(value, int | float | str) else value


def text_of(value: Any) -> str:
    """A value for people: floats have nine digits."""
    return str(round(value, 9) if isinstance(value, float) else value)


def _with_attribute(
    model: onnx.ModelProto, place: int, name: str, value: Any, feeds: Mapping[str, Value]
) -> Program | None:
    changed = _copy(model)
    node = changed.graph.node[place]
    kept = [a for a in node.attribute if a.name != name and not _excluded(a, name, value)]
    del node.attribute[:]
    node.attribute.extend(kept if value is None else [*kept, helper.make_attribute(name, value)])
    if name == "group" and not _regrouped(changed, node, feeds):
        return None
    return _inferred(changed)


def _excluded(attribute: AttributeProto, name: str, value: Any) -> bool:
    """Whether an attribute cannot stay beside the new one: explicit padding and automatic padding."""
    if name == "auto_pad":
        return value != "NOTSET" and attribute.name == "pads"
    return name == "pads" and attribute.name == "auto_pad"


def _default(spec: OpSpec, attribute: AttributeProto) -> bool:
    """Whether an attribute says what would hold without it."""
    return plain(helper.get_attribute_value(attribute)) == spec.attrs[attribute.name].default


def _regrouped(model: onnx.ModelProto, node: onnx.NodeProto, feeds: Mapping[str, Value]) -> bool:
    """Weights of a convolution repeated as one group needs them, if they are constants."""
    data = feeds.get(node.input[0])
    for tensor in model.graph.initializer:
        # Of those with groups, only its weights are laid out so, and only they are rewritten here.
        if tensor.name == node.input[1] and node.op_type == "Conv" and isinstance(data, np.ndarray):
            weights = numpy_helper.to_array(tensor)
            times = -(-data.shape[1] // weights.shape[1])
            wide = np.concatenate([weights] * times, axis=1)[:, : data.shape[1]]
            tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(wide), tensor.name))
            return True
    return False


def _without_input(model: onnx.ModelProto, place: int, position: int) -> Program | None:
    changed = _copy(model)
    node = changed.graph.node[place]
    name = node.input[position]
    node.input[position] = ""
    while node.input and not node.input[-1]:
        del node.input[-1]
    if name not in node.input:
        for held in (changed.graph.input, changed.graph.initializer):
            for value in [v for v in held if v.name == name]:
                held.remove(value)  # pyright: ignore[reportArgumentType]
        kept = [n for n in changed.graph.node if name not in n.output]
        del changed.graph.node[:]
        changed.graph.node.extend(kept)
    return _inferred(changed)


def _copy(model: onnx.ModelProto) -> onnx.ModelProto:
    made = onnx.ModelProto()
    made.CopyFrom(model)
    return made


def _inferred(model: onnx.ModelProto) -> Program | None:
    for output in model.graph.output:
        dtype = output.type.tensor_type.elem_type
        output.CopyFrom(helper.make_tensor_value_info(output.name, dtype, None))
    try:
        return Program.from_proto(model)
    except InvalidProgram:
        return None
