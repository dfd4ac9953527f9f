"""Runs generated PyTorch modules.

Runs in the worker's interpreter: imports only the standard library, numpy and torch.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import json
import os
import shutil
import sysconfig
import tempfile
import warnings
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from .generated_module_runner import Framework, Mode
from .runs import Answer, Course, first_line

DECLINED = ("Unsupported", "UserError", "GuardOnDataDependentSymNode", "DataDependentOutputException",
            "DynamicOutputShapeException", "UnsupportedFakeTensorException", "UnsupportedOperatorException",
            "MissingOperatorWithoutDecomp", "MissingOperatorWithDecomp", "FailOnRecompileLimitHit")  # fmt: skip
"""What torch.export, torch.compile and torch.fx raise for what they say that they do not take."""
UNTRACEABLE = (
    "did not have observable data dependence with trace inputs",
    "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions",
    "Type 'Tuple[()]' cannot be traced",
    "We don't have an op for aten::view but it isn't a special case",
)
"""The same of torch.jit.trace, which raises RuntimeError for everything.

The last one is what it says of every ``Tensor.view(dtype)``, which only the generated source has, and no operator of a
program in particular.
"""

READERS = frozenset(
    getattr(torch.Tensor, name) for name in ("item", "tolist", "__bool__", "__int__", "__float__", "__index__")
)
"""What takes elements of a tensor to Python, which leaves a mark in no graph."""


def warm() -> None:
    """Make torch single-threaded. Called once, before the first request."""
    torch.set_num_threads(1)


def handle(request: dict[str, Any], arrays: list[Any]) -> Answer:
    """Answer ``{"do": "describe"}`` or run a module (see ``Framework.answer``).

    The mode ``gradient`` is followed by objectives as JSON.
    """
    if request["do"] == "describe":
        lacking = _cannot_compile_for_gpu() if request.get("device") else _cannot_compile()
        return {"version": torch.__version__, "modes": {"compile": lacking}}, []
    torch.set_num_threads(1)
    return TORCH.answer(request, arrays)


@functools.cache
def open_device() -> str:
    """Start CUDA and multiply two matrices; why that fails, empty if it does not."""
    if torch.version.cuda is None:
        return f"torch {torch.__version__} is built without CUDA"
    try:
        one = torch.ones(2, 2, device="cuda")
        (one @ one).cpu()
    except Exception as error:  # noqa: BLE001 - whatever the driver raises is the answer
        return first_line(error)
    return ""


def _without_reduced_precision() -> None:
    """Have products and convolutions of float32 computed in float32, and sums of halves added up in float32.

    These names set the newer ones (``fp32_precision``), too; the two may not be mixed.
    """
    torch.set_float32_matmul_precision("highest")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there are newer names, which older versions lack
        torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False


@contextlib.contextmanager
def _placed(module: dict[str, Any], device: str) -> Generator[None]:
    """Weights, inputs and whatever the module makes are on the device."""
    if not device:
        yield
        return
    _without_reduced_precision()
    tensors = module["tensors"]
    module["tensors"] = lambda *given: tuple(_moved(values, device) for values in tensors(*given))
    with torch.device(device):
        yield


def _moved(value: Any, device: str) -> Any:
    """A tensor on another device, or all of a dictionary or a list."""
    if isinstance(value, dict):
        return {name: _moved(item, device) for name, item in value.items()}
    if isinstance(value, list):
        return [_moved(item, device) for item in value]
    return None if value is None else value.to(device)


def _declined(error: BaseException | None, stage: str) -> bool:
    """Whether torch says that it lacks something: a kernel, or a way to capture this."""
    seen = 0
    while error is not None and seen < 16:
        if isinstance(error, NotImplementedError) or type(error).__name__ in DECLINED:
            return True
        if any(words in str(error) for words in UNTRACEABLE):
            return True
        error, seen = getattr(error, "inner_exception", None) or error.__cause__, seen + 1
    return False


# ---- the ways to run a module ---------------------------------------------------------------


def _eager(
    module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any], course: Course, _more: str
) -> dict[str, Any]:
    course.at("run")
    with torch.inference_mode():
        return module["forward"](*module["tensors"](weights, inputs))


def _jit(
    module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any], course: Course, _more: str
) -> dict[str, Any]:
    """``torch.jit.trace``. The first run only takes profiles, the second one is of the optimised graph."""
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that sizes and branches are fixed at those of this input is known
        course.at("convert")
        taken = _Taken(module["forward"], *module["tensors"](weights, inputs))
        traced: Any = torch.jit.trace(taken, taken.flat, check_trace=False)
        course.at("run")
        traced(*taken.flat)
        return taken.outputs(traced(*taken.flat))


def _export(
    module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any], course: Course, _more: str
) -> dict[str, Any]:
    """``torch.export``. Sizes and branches that depend on elements are fixed at those of this input, as in a trace."""
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        course.at("convert")
        tensors = module["tensors"](weights, inputs)
        taken = _Taken(_fixed(module["forward"], tensors), *tensors)
        exported = torch.export.export(taken, taken.flat, strict=False)
        course.at("run")
        return taken.outputs(exported.module()(*taken.flat))


OBJECTIVES: dict[str, Callable[[Any, Any], Any]] = {
    "least": lambda a, b: -a.min(),
    "most": lambda a, b: a.max(),
    "largest": lambda a, b: a.abs().max(),
    "zeros": lambda a, b: -(a.abs() + b.abs()).min(),
    "row": lambda a, b: -(a.abs().amax(-1) if a.ndim else a.abs()).min(),
}
"""Differentiable forms of the objectives of ``nan_inconsistency_fitness``, of an operand and the last one."""


def _gradient(
    module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any], course: Course, objectives: str
) -> dict[str, Any]:
    """Of each objective (kind and two names, of inputs or outputs) its value and its gradient in each float input.

    The outputs are called ``PLACE/`` for the value and ``PLACE/INPUT`` for a gradient; objectives that do not depend on
    any input, or have no finite gradient, are left out. The objective ``each`` has the elements of a vector as its
    value, and a row of gradients for each of them.
    """
    course.at("run")
    constants, given = module["tensors"](weights, inputs)
    moving = {n: t for n, t in given.items() if isinstance(t, torch.Tensor) and t.is_floating_point()}
    moving = {n: t.detach().clone().requires_grad_() for n, t in moving.items()}
    values = {**given, **moving}
    values = {**values, **module["forward"](constants, values)}
    found: dict[str, Any] = {}
    for place, (kind, first, second) in enumerate(json.loads(objectives)):
        a, b = values.get(first), values.get(second)
        if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor) or not a.numel():
            continue
        if not (a.is_floating_point() and b.is_floating_point() and a.requires_grad):
            continue
        score = a.reshape(-1) if kind == "each" else OBJECTIVES[kind](a, b if kind == "zeros" else a)
        gradients = _rows(score, list(moving.values())) if kind == "each" else _slopes(score, list(moving.values()))
        if all(g is None or bool(torch.isfinite(g).all()) for g in gradients):
            found[f"{place}/"] = score.detach()
            found.update({f"{place}/{n}": g for n, g in zip(moving, gradients) if g is not None})  # noqa: B905
    return found


def _slopes(score: Any, moving: list[Any]) -> Any:
    """The gradient of a number in each tensor, ``None`` in those that it does not depend on."""
    return torch.autograd.grad(score, moving, retain_graph=True, allow_unused=True)


def _rows(vector: Any, moving: list[Any]) -> list[Any]:
    """The gradients of all elements of a vector in each tensor, stacked."""
    try:
        unit = torch.eye(vector.numel(), dtype=vector.dtype)
        return list(torch.autograd.grad(vector, moving, unit, retain_graph=True, allow_unused=True,
                                        is_grads_batched=True))  # fmt: skip
    except RuntimeError:  # a kernel that torch.func cannot batch
        rows = [_slopes(element, moving) for element in vector.unbind()]
    return [None if all(g is None for g in column) else torch.stack([torch.zeros_like(t) if g is None else g
            for g in column]) for t, column in zip(moving, zip(*rows))]  # noqa: B905  # fmt: skip


class _Reads(TorchFunctionMode):
    """Keeps what Python code reads out of tensors, and gives it again if tensors have no elements."""

    def __init__(self, kept: list[Any] | None = None) -> None:
        super().__init__()
        self.found: list[Any] = []
        self._left = None if kept is None else iter(kept)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func not in READERS:
            return func(*args, **(kwargs or {}))
        if self._left is not None:
            return next(self._left)
        given = func(*args, **(kwargs or {}))
        # A tensor without elements makes its list of one item after the other.
        self.found += np.asarray(given, object).reshape(-1).tolist() if func is torch.Tensor.tolist else [given]
        return given


def _fixed(forward: Callable[..., Any], tensors: Any) -> Callable[..., Any]:
    """``forward`` with what it reads out of tensors on these inputs written into it."""
    with _Reads() as reads:
        forward(*tensors)

    def again(weights: dict[str, Any], inputs: dict[str, Any]) -> Any:
        with _Reads(reads.found):
            return forward(weights, inputs)

    return again if reads.found else forward


def _compile(
    module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any], course: Course, _more: str
) -> dict[str, Any]:
    """``torch.compile`` with the settings that it has."""
    from torch._dynamo import lookup_backend

    inductor: Any = lookup_backend("inductor")

    def backend(graph: Any, example: Any) -> Any:
        course.at("compile")
        made = inductor(graph, example)
        course.at("run")
        return made

    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder, kept = _compiler_folder()
        tensors = module["tensors"](weights, inputs)
        course.at("convert")
        # Versions to which `forward` is no root frame (2.11) would import what names itself as a module is named.
        module.pop("__name__", None)
        torch.compiler.reset()
        try:
            outputs = torch.compile(module["forward"], backend=backend)(*tensors)
        finally:
            torch.compiler.reset()
            for path in _files(folder) - kept:
                with contextlib.suppress(FileNotFoundError):
                    path.unlink()
    course.at("run")
    return outputs


@functools.cache
def _compiler_folder() -> tuple[Path, frozenset[Path]]:
    """Where inductor writes, and what stays there: its probes of the processor, 13 s of work for the first child.

    The worker's scratch folder outlives this process, and is removed with the worker.
    """
    import torch._inductor.config as settings

    folder = Path(tempfile.gettempdir(), "inductor")
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder)
    settings.compile_threads = 1
    # Nothing is compiled twice here, so that files to find it again by are only work.
    settings.fx_graph_cache = False
    if not folder.exists():
        torch.compile(torch.neg)(torch.ones(2))
    return folder, _files(folder)


def _files(folder: Path) -> frozenset[Path]:
    return frozenset(path for path in folder.rglob("*") if path.is_file())


def _bits(value: Any) -> Any:
    if not isinstance(value, torch.Tensor) or value.dtype != torch.bfloat16:
        return None
    return value.cpu().contiguous().reshape(-1).view(torch.uint8).numpy()


MODES: dict[str, Mode] = {
    "eager": _eager,
    "jit": _jit,
    "export": _export,
    "compile": _compile,
    "gradient": _gradient,
}

TORCH = Framework("torch", MODES, _declined, _bits, (torch.cuda.OutOfMemoryError,), _placed)


def _cannot_compile() -> str:
    """Why inductor, which writes C++ that includes Python's headers, cannot work here; empty if it can."""
    names = [os.environ.get("CXX", ""), "g++", "clang++", "c++"]
    if not any(name and shutil.which(name) for name in names):
        return "torch.compile needs a C++ compiler; install g++ or clang++, or set CXX"
    return _without_headers()


def _cannot_compile_for_gpu() -> str:
    """The same of what it compiles for a GPU: Triton, whose launchers are C."""
    if importlib.util.find_spec("triton") is None:
        return "torch.compile needs triton for a GPU; pip install triton"
    if not any(name and shutil.which(name) for name in (os.environ.get("CC", ""), "gcc", "clang", "cc")):
        return "torch.compile needs a C compiler for a GPU; install gcc or clang, or set CC"
    return _without_headers()


def _without_headers() -> str:
    header = Path(sysconfig.get_path("include"), "Python.h")
    return "" if header.exists() else f"torch.compile needs {header}; install Python's headers (python3-dev)"


class _Form:
    """Where each output's tensors stand; not a container, for torch.export puts those back as they were."""

    outputs: dict[str, Any]


class _Taken(torch.nn.Module):
    """A module's ``forward`` as tracers want it: tensors in, tensors out, weights as buffers.

    Attributes:
        flat: the input tensors, those inside sequences too.
    """

    def __init__(self, forward: Any, weights: dict[str, Any], inputs: dict[str, Any]) -> None:
        super().__init__()
        self._compute = forward
        self._buffers_of = {}
        for index, (name, tensor) in enumerate(weights.items()):
            self._buffers_of[name] = f"weight_{index}"
            self.register_buffer(f"weight_{index}", tensor)
        flat: list[Any] = []
        self._inputs = {name: _flatten(value, flat) for name, value in inputs.items()}
        self.flat = tuple(flat)
        self._form = _Form()

    def forward(self, *flat: Any) -> tuple[Any, ...]:
        weights = {name: getattr(self, buffer) for name, buffer in self._buffers_of.items()}
        given = self._compute(weights, {name: _rebuild(form, flat) for name, form in self._inputs.items()})
        tensors: list[Any] = []
        self._form.outputs = {name: _flatten(value, tensors) for name, value in given.items()}
        return tuple(tensors)

    def outputs(self, flat: Any) -> dict[str, Any]:
        """Outputs by name, from the tensors that the traced form gives."""
        return {name: _rebuild(form, flat) for name, form in self._form.outputs.items()}


def _flatten(value: Any, flat: list[Any]) -> Any:
    """Put a value's tensors into ``flat``; what is left of it is their places there."""
    if isinstance(value, list):
        return [_flatten(item, flat) for item in value]
    if value is None:
        return None
    flat.append(value)
    return len(flat) - 1


def _rebuild(form: Any, flat: Any) -> Any:
    """Undo ``_flatten``."""
    if isinstance(form, list):
        return [_rebuild(item, flat) for item in form]
    return None if form is None else flat[form]
