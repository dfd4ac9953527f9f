"""Runs a generated PyTorch module after a save and a load, from a data set, or sparsely.

Runs in the worker's interpreter, and beside a ``repro.py``: imports only the standard library, numpy and
torch, and ``layers.py``.
"""

from __future__ import annotations

import io
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from .layers import through_layers


class _Lowered(torch.nn.Module):
    """A module's ``forward`` with its weights as buffers."""

    def __init__(self, forward: Any, weights: dict[str, Any], inputs: list[str]) -> None:
        super().__init__()
        self._compute = forward
        self._names = list(weights)
        self._inputs = inputs
        self.outputs: list[str] = []
        for index, name in enumerate(self._names):
            self.register_buffer(f"weight_{index}", weights[name])

    def forward(self, *given: Any) -> tuple[Any, ...]:
        weights = {name: getattr(self, f"weight_{index}") for index, name in enumerate(self._names)}
        outputs = self._compute(weights, dict(zip(self._inputs, given)))  # noqa: B905 - Python 3.9
        self.outputs = list(outputs)
        return tuple(outputs.values())


def _flat(inputs: dict[str, Any]) -> tuple[Any, ...]:
    """The inputs, if all are tensors."""
    if not all(isinstance(value, torch.Tensor) for value in inputs.values()):
        raise NotImplementedError("an input is no tensor")
    return tuple(inputs.values())


def _named(lowered: _Lowered, values: Any) -> dict[str, Any]:
    return dict(zip(lowered.outputs, values))  # noqa: B905 - Python 3.9


def _state_dict(module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """``load_state_dict`` of ``torch.load`` of what ``torch.save`` wrote, into a module that had other weights."""
    given = _flat(inputs)
    if not weights:
        raise NotImplementedError("there are no weights to save")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "weights.pt")
        torch.save(_Lowered(module["forward"], weights, list(inputs)).state_dict(), path)
        empty = {name: torch.zeros_like(weight) for name, weight in weights.items()}
        loaded = _Lowered(module["forward"], empty, list(inputs))
        loaded.load_state_dict(torch.load(path, weights_only=True))
    return _named(loaded, loaded(*given))


def _script_file(module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """``torch.jit.load`` of what ``torch.jit.save`` wrote of a trace."""
    given = _flat(inputs)
    lowered = _Lowered(module["forward"], weights, list(inputs))
    traced = torch.jit.trace(lowered, given, check_trace=False)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "model.pt"))
        torch.jit.save(traced, path)
        return _named(lowered, torch.jit.load(path)(*given))


def _data_loader(module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """A ``DataLoader`` that puts the batch together of its rows, or hands out the inputs as they are."""
    from torch.utils.data import DataLoader, TensorDataset

    given = _flat(inputs)
    rows = {tensor.shape[0] if tensor.dim() else 0 for tensor in given}
    if not given:
        raise NotImplementedError("there are no inputs")
    if len(rows) == 1 and 0 not in rows:
        (batch,) = DataLoader(TensorDataset(*given), batch_size=rows.pop())
    else:
        whole: Any = [list(given)]
        (batch,) = DataLoader(whole, batch_size=None)
    return module["forward"](weights, dict(zip(inputs, batch)))  # noqa: B905 - Python 3.9


UNARY = frozenset(
    {
        *("abs", "asin", "asinh", "atan", "atanh", "ceil", "erf", "expm1", "floor", "log1p", "neg", "negative", "relu"),
        *("round", "sgn", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc", "__neg__", "__abs__"),
    }
)
"""Functions of one tensor that keep zero."""
BINARY = frozenset({"add", "sub", "mul", "__add__", "__sub__", "__mul__", "__radd__", "__rmul__"})
MOVING = frozenset({"transpose", "permute", "t", "unsqueeze", "index_select"})
PRODUCTS = frozenset({"matmul", "mm", "bmm", "__matmul__"})


class _Sparse(TorchFunctionMode):
    """Computes with sparse tensors what has kernels for them, and the rest as it is."""

    def __init__(self, layout: torch.layout) -> None:
        super().__init__()
        self.used = 0
        self._layout = layout

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        try:
            found = self._sparsely(func, name, args, kwargs)
        except (NotImplementedError, RuntimeError, TypeError):  # no sparse kernel for this one
            found = None
        if found is None:
            return func(*args, **kwargs)
        self.used += 1
        return found

    def _sparse(self, value: Any) -> Any:
        """The tensor as a sparse one; ``None`` if it cannot be, or if 0 times its elements is not 0."""
        if not isinstance(value, torch.Tensor) or value.layout is not torch.strided or value.dim() == 0:
            return None
        if value.dtype.is_floating_point and not bool(torch.isfinite(value).all()):
            return None
        if self._layout is torch.sparse_coo:
            return value.to_sparse()
        return value.to_sparse_csr() if value.dim() == 2 else None

    def _sparsely(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        if name not in UNARY | BINARY | MOVING | PRODUCTS | {"sum"} or not args:
            return None
        first = self._sparse(args[0])
        if first is None:
            return None
        if name in UNARY or name in MOVING:
            return self._dense(func(first, *args[1:], **kwargs))
        if name == "sum":
            return self._summed(first, *args[1:], **kwargs)
        second = self._sparse(args[1]) if len(args) > 1 else None
        if second is None or args[0].dtype != args[1].dtype:
            return None
        if name in PRODUCTS:
            if args[0].dim() == 2 == args[1].dim():
                return self._dense(torch.sparse.mm(first, args[1]))
            if args[0].dim() == 3 == args[1].dim():
                return self._dense(torch.bmm(first, args[1]))
            return None
        return self._dense(func(first, second, *args[2:], **kwargs)) if args[0].shape == args[1].shape else None

    def _summed(self, value: Any, dim: Any = None, keepdim: bool = False, **more: Any) -> Any:
        if more or self._layout is not torch.sparse_coo:
            return None
        if dim is None or (isinstance(dim, (list, tuple)) and not dim):
            return torch.sparse.sum(value)
        axes = sorted({d % value.dim() for d in ([dim] if isinstance(dim, int) else dim)})
        found = self._dense(torch.sparse.sum(value, axes))
        for axis in axes if keepdim else ():
            found = found.unsqueeze(axis)
        return found

    def _dense(self, value: Any) -> Any:
        return value.to_dense() if value.layout is not torch.strided else value


def _sparsely(layout: torch.layout) -> Callable[..., dict[str, Any]]:
    def compute(module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
        with _Sparse(layout) as mode:
            outputs = module["forward"](weights, inputs)
        if not mode.used:
            raise NotImplementedError("nothing in it has a kernel for sparse tensors")
        return outputs

    return compute


GATES = {"rnn": [0], "gru": [1, 0, 2], "lstm": [0, 2, 3, 1]}
"""ONNX's gates (zrh, iofc) in torch's order (rzn, ifgo)."""


def _recurrent_layer(module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """``torch.nn.RNN``, ``GRU`` and ``LSTM`` for the steps that the module spells out, with the batch elsewhere."""
    return through_layers(module, weights, inputs, _run_layer)


def _run_layer(kind: str, given: dict[str, Any], active: str) -> tuple[Any, ...] | None:
    """ONNX's outputs, of a layer that has the batch first where ONNX has time first, and the other way round."""
    x, w, r, b, layout = (given[n] for n in ("x", "w", "r", "b", "layout"))
    if x.dtype not in (torch.float32, torch.float64) or not given.get("linear_before_reset", 1):
        return None
    directions, rows, size = w.shape
    hidden = r.shape[2]
    options = {"nonlinearity": active} if kind == "rnn" else {}
    layer = {"rnn": torch.nn.RNN, "gru": torch.nn.GRU, "lstm": torch.nn.LSTM}[kind](
        size, hidden, batch_first=not layout, bidirectional=directions == 2, dtype=x.dtype, **options
    )
    for d in range(directions):
        end = "_reverse" if d else ""
        bias = x.new_zeros(2 * rows) if b is None else b[d]
        for name, value in (
            ("weight_ih", w[d]),
            ("weight_hh", r[d]),
            ("bias_ih", bias[:rows]),
            ("bias_hh", bias[rows:]),
        ):
            gates = value.chunk(len(GATES[kind]))
            getattr(layer, f"{name}_l0{end}").data.copy_(torch.cat([gates[g] for g in GATES[kind]]))
    backwards = given["direction"] == "reverse"
    moved = x.transpose(0, 1)
    time = 0 if layout else 1
    moved = moved.flip(time) if backwards else moved
    zeros = x.new_zeros(directions, moved.shape[1 - time], hidden)
    states = [given[n] for n in ("h0", "c0") if n in given]
    states = [zeros if s is None else s.transpose(0, 1) if layout else s for s in states]
    states = [s.contiguous() for s in states]
    y, after = layer(moved.contiguous(), tuple(states) if kind == "lstm" else states[0])
    y = y.flip(time) if backwards else y
    y = y.reshape(*y.shape[:2], directions, hidden)
    after = after if kind == "lstm" else (after,)
    y = y.permute(1, 0, 2, 3) if layout else y.permute(1, 2, 0, 3)
    return (y, *(s.transpose(0, 1) if layout else s for s in after))


def _encoded(module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """Inputs that ``torch.load`` reads of what ``torch.save`` wrote, with gaps between their elements."""
    given = _flat(inputs)
    if not given:
        raise NotImplementedError("there are no inputs")
    read: list[Any] = []
    for tensor in given:
        file = io.BytesIO()
        torch.save(tensor.unsqueeze(-1).repeat(*[1] * tensor.dim(), 2)[..., 0], file)
        file.seek(0)
        read.append(torch.load(file, weights_only=True).contiguous())
    return module["forward"](weights, dict(zip(inputs, read)))  # noqa: B905 - Python 3.9


WAYS: dict[str, Callable[..., dict[str, Any]]] = {
    "encoded": _encoded,
    "recurrent-layer": _recurrent_layer,
    "state-dict": _state_dict,
    "script-file": _script_file,
    "data-loader": _data_loader,
    "sparse-coo": _sparsely(torch.sparse_coo),
    "sparse-csr": _sparsely(torch.sparse_csr),
}


def run(way: str, module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """Outputs by name.

    Args:
        way: a key of ``WAYS``.
        module: the names that the generated module defines.
        weights: tensors by name.
        inputs: tensors by name.
    """
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that sparse layouts are in beta, and traces fix sizes
        return WAYS[way](module, weights, inputs)
