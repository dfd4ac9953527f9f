"""Runs a generated TensorFlow module after a save and a load, by data set, or sparsely.

Runs in the worker's interpreter, and beside a ``repro.py``: imports only the standard library, numpy and
TensorFlow, and ``layers.py``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow as tf

from .layers import through_layers


def _tensors(inputs: dict[str, Any]) -> dict[str, Any]:
    """The inputs, if all are tensors."""
    if not all(isinstance(value, tf.Tensor) for value in inputs.values()):
        raise NotImplementedError("an input is no tensor")
    return inputs


def _kept(weights: dict[str, Any]) -> list[str]:
    """Names of the weights that become variables: of integers the lowering may want to know the elements."""
    names = [name for name, value in weights.items() if value.dtype.is_floating]
    if not names:
        raise NotImplementedError("there are no weights to save")
    return names


_LAST: dict[str, tuple[Any, Any]] = {}
"""By the way, what was loaded last and of what it was made: the next inputs of the same module need no second file."""


def _loaded(way: str, module: dict[str, Any], weights: dict[str, Any], given: dict[str, Any], make: Any) -> Any:
    """What ``make`` loads, or what it loaded for the same module, weights and types of inputs just before."""
    source = module.get("__source__")
    if source is None:
        return make()
    kinds = [(name, value.dtype, tuple(value.shape)) for name, value in given.items()]
    numbers = [(name, value.dtype, tuple(value.shape), value.numpy().tobytes()) for name, value in weights.items()]
    key = (source, kinds, numbers)
    if way not in _LAST or _LAST[way][0] != key:
        _LAST[way] = (key, make())
    return _LAST[way][1]


class _Lowered(tf.Module):
    def __init__(self, forward: Any, weights: dict[str, Any], names: list[str]) -> None:
        super().__init__()
        self.kept = [tf.Variable(weights[name], trainable=False) for name in names]
        rest = {name: value for name, value in weights.items() if name not in names}

        def compute(values: dict[str, Any]) -> dict[str, Any]:
            made = {name: tf.convert_to_tensor(variable) for name, variable in zip(names, self.kept)}  # noqa: B905
            return forward({**rest, **made}, values)

        self.compute = tf.function(compute, autograph=False)


def _saved_model(module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """``tf.saved_model.load`` of what ``tf.saved_model.save`` wrote."""
    given = _tensors(inputs)

    def make() -> Any:
        lowered = _Lowered(module["forward"], weights, [n for n, v in weights.items() if v.dtype.is_floating])
        lowered.compute.get_concrete_function(given)
        with tempfile.TemporaryDirectory() as folder:
            tf.saved_model.save(lowered, folder)
            loaded: Any = tf.saved_model.load(folder)  # it owns the variables
            loaded.compute(given)
        return loaded

    return _loaded("saved-model", module, weights, given, make).compute(given)


def _checkpoint(module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """``tf.train.Checkpoint``, read into variables that held other numbers."""
    names = _kept(weights)
    with tempfile.TemporaryDirectory() as folder:
        path = tf.train.Checkpoint(kept=[tf.Variable(weights[n]) for n in names]).write(str(Path(folder, "weights")))
        empty = [tf.Variable(tf.zeros_like(weights[n])) for n in names]
        tf.train.Checkpoint(kept=empty).read(path).assert_consumed()
    made = {n: tf.convert_to_tensor(v) for n, v in zip(names, empty)}  # noqa: B905 - Python 3.9
    return module["forward"]({**weights, **made}, inputs)


def _keras_file(module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """``keras.models.load_model`` of a ``.keras`` file, as a model of one layer that computes the module."""
    import keras

    given, names = _tensors(inputs), _kept(weights)

    class Lowered(keras.Model):
        def __init__(self, **config: Any) -> None:
            super().__init__(**{**config, "autocast": False})
            self.kept = [
                self.add_weight(
                    name=f"weight_{index}", shape=weights[n].shape, dtype=weights[n].dtype.name, initializer="zeros",
                    trainable=False,
                )
                for index, n in enumerate(names)
            ]  # fmt: skip

        def call(self, values: dict[str, Any]) -> dict[str, Any]:
            made = {n: tf.convert_to_tensor(v.value) for n, v in zip(names, self.kept)}  # noqa: B905 - Python 3.9
            return module["forward"]({**weights, **made}, values)

    def make() -> Any:
        model = Lowered()
        for name, variable in zip(names, model.kept):  # noqa: B905 - Python 3.9
            variable.assign(weights[name])
        model(given)
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder, "model.keras"))
            model.save(path)
            loaded: Any = keras.models.load_model(path, custom_objects={"Lowered": Lowered})
        return loaded

    return _loaded("keras-file", module, weights, given, make)(given)


def _rows(inputs: dict[str, Any]) -> Any:
    """A data set whose only element is the inputs, put together of their rows if they have as many."""
    given: Any = _tensors(inputs)
    if not given:
        raise NotImplementedError("there are no inputs")
    rows = {value.shape[0] if value.shape.rank else 0 for value in given.values()}
    if len(rows) != 1 or 0 in rows:
        return tf.data.Dataset.from_tensors(given)
    return tf.data.Dataset.from_tensor_slices(given).batch(rows.pop(), drop_remainder=True)


def _dataset(module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """``tf.data`` hands out the inputs."""
    (batch,) = _rows(inputs)
    return module["forward"](weights, batch)


def _dataset_map(module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """``tf.data`` computes the module, too."""
    (outputs,) = _rows(inputs).map(lambda values: module["forward"](weights, values))
    return outputs


KEEP_ZERO = frozenset(
    {"abs", "asin", "asinh", "atan", "atanh", "ceil", "floor", "negative", "sign", "sin", "sinh", "sqrt", "square",
     "tan", "tanh"}
)  # fmt: skip
"""Functions of one tensor that keep zero; ``tf.round`` is left out, for it makes a negative zero of what it cuts."""


class _SparseTf:
    """``tf`` for a module's eyes, with kernels for sparse tensors if there are any."""

    def __init__(self) -> None:
        self.used = 0

    def __getattr__(self, name: str) -> Any:
        own = getattr(tf, name)
        sparse = getattr(_SparseTf, f"op_{name}", None)
        if name in KEEP_ZERO:
            sparse = _SparseTf.mapped(own)
        if sparse is None:
            return own

        def compute(*args: Any, **kwargs: Any) -> Any:
            try:
                found = sparse(*args, **kwargs)
            except (NotImplementedError, TypeError, ValueError, tf.errors.OpError):  # no kernel for this one
                found = None
            if found is None:
                return own(*args, **kwargs)
            self.used += 1
            return found

        return compute

    @staticmethod
    def sparse_of(value: Any) -> Any:
        if not isinstance(value, tf.Tensor) or not value.shape.rank:
            raise NotImplementedError
        if value.dtype.is_floating and not bool(tf.reduce_all(tf.math.is_finite(value))):
            raise NotImplementedError
        return tf.sparse.from_dense(value)

    @staticmethod
    def mapped(own: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x: tf.sparse.to_dense(tf.sparse.map_values(own, _SparseTf.sparse_of(x)))

    @staticmethod
    def op_matmul(a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False) -> Any:
        if a.shape.rank != 2 or b.shape.rank != 2 or not a.dtype.is_floating:
            return None
        _SparseTf.sparse_of(b)  # 0 times infinity is no 0
        left = _SparseTf.sparse_of(a)
        return tf.sparse.sparse_dense_matmul(left, b, adjoint_a=transpose_a, adjoint_b=transpose_b)

    @staticmethod
    def op_transpose(a: Any, perm: Any = None) -> Any:
        return tf.sparse.to_dense(tf.sparse.transpose(_SparseTf.sparse_of(a), perm))

    @staticmethod
    def op_reshape(tensor: Any, shape: Any) -> Any:
        sparse = tf.sparse.reshape(_SparseTf.sparse_of(tensor), shape)
        return tf.reshape(tf.sparse.to_dense(sparse), shape)

    @staticmethod
    def op_reduce_sum(input_tensor: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return tf.sparse.reduce_sum(_SparseTf.sparse_of(input_tensor), axis, keepdims)

    @staticmethod
    def op_concat(values: Any, axis: int) -> Any:
        return tf.sparse.to_dense(tf.sparse.concat(axis, [_SparseTf.sparse_of(v) for v in values]))

    @staticmethod
    def op_maximum(x: Any, y: Any) -> Any:
        return tf.sparse.to_dense(tf.sparse.maximum(_SparseTf.sparse_of(x), _SparseTf.sparse_of(y)))

    @staticmethod
    def op_minimum(x: Any, y: Any) -> Any:
        return tf.sparse.to_dense(tf.sparse.minimum(_SparseTf.sparse_of(x), _SparseTf.sparse_of(y)))

    @staticmethod
    def op_add(x: Any, y: Any) -> Any:
        return tf.sparse.to_dense(tf.sparse.add(_SparseTf.sparse_of(x), _SparseTf.sparse_of(y)))

    @staticmethod
    def op_slice(input_: Any, begin: Any, size: Any) -> Any:
        return tf.sparse.to_dense(tf.sparse.slice(_SparseTf.sparse_of(input_), begin, size))

    @staticmethod
    def op_expand_dims(input: Any, axis: Any) -> Any:  # noqa: A002 - TensorFlow's name
        return tf.sparse.to_dense(tf.sparse.expand_dims(_SparseTf.sparse_of(input), axis))


def _sparse_tensor(module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """``tf.sparse`` for products, sums, movements and functions that keep zero."""
    names = module["forward"].__globals__  # those of the module, whichever way it was loaded
    names["tf"] = eyes = _SparseTf()
    try:
        outputs = module["forward"](weights, inputs)
    finally:
        names["tf"] = tf
    if not eyes.used:
        raise NotImplementedError("nothing in it has a kernel for sparse tensors")
    return outputs


GATES = {"rnn": [0], "gru": [0, 1, 2], "lstm": [0, 2, 3, 1]}
"""ONNX's gates (zrh, iofc) in Keras' order (zrh, ifco)."""


def _recurrent_layer(module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """Keras' recurrent layers, in ``Bidirectional``, for the steps that the module spells out."""
    return through_layers(module, weights, inputs, _run_layer)


def _run_layer(kind: str, given: dict[str, Any], active: str) -> tuple[Any, ...] | None:
    """ONNX's outputs; Keras has the batch first."""
    import keras

    x, w, r, layout, direction = (given[n] for n in ("x", "w", "r", "layout", "direction"))
    if x.dtype not in (tf.float32, tf.float64):
        return None
    directions, rows, _ = w.shape
    hidden = r.shape[2]
    kinds: dict[str, Any] = {"rnn": keras.layers.SimpleRNN, "gru": keras.layers.GRU, "lstm": keras.layers.LSTM}
    options = {"reset_after": bool(given["linear_before_reset"])} if kind == "gru" else {}
    layer: Any = kinds[kind](
        hidden, activation=active, return_sequences=True, return_state=True, dtype=x.dtype.name,
        go_backwards=direction == "reverse", **options,
    )  # fmt: skip
    both: Any = keras.layers.Bidirectional(layer, merge_mode="concat", dtype=x.dtype.name) if directions == 2 else layer
    x = x if layout else tf.transpose(x, [1, 0, 2])
    both.build(tuple(x.shape))
    bias = tf.zeros([directions, 2 * rows], x.dtype) if given["b"] is None else given["b"]
    for d, one in enumerate((both.forward_layer, both.backward_layer) if directions == 2 else (layer,)):
        kernels = [_gates(kind, value) for value in (w[d], r[d], bias[d][:rows], bias[d][rows:])]
        ends = tf.stack(kernels[2:]) if options.get("reset_after") else kernels[2] + kernels[3]
        one.set_weights([tf.transpose(kernels[0]), tf.transpose(kernels[1]), ends])
    zeros = tf.zeros([directions, x.shape[0], hidden], x.dtype)
    states = [given[n] for n in ("h0", "c0") if n in given]
    states = [zeros if s is None else tf.transpose(s, [1, 0, 2]) if layout else s for s in states]
    y, *after = both(x, initial_state=[s[d] for d in range(directions) for s in states])
    y = tf.reverse(y, [1]) if direction == "reverse" else y
    y = tf.reshape(y, [*y.shape[:2], directions, hidden])
    ends = [tf.stack(after[place :: len(states)]) for place in range(len(states))]
    if layout:
        return (y, *(tf.transpose(s, [1, 0, 2]) for s in ends))
    return (tf.transpose(y, [1, 2, 0, 3]), *ends)


def _gates(kind: str, value: Any) -> Any:
    parts = tf.split(value, len(GATES[kind]))
    return tf.concat([parts[g] for g in GATES[kind]], 0)


def _encoded(module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """Bytes and short words through a PNG and back, strings through base64, and the rest as serialised tensors."""
    if not inputs:
        raise NotImplementedError("there are no inputs")
    return module["forward"](weights, {name: _decoded(value) for name, value in _tensors(inputs).items()})


def _decoded(value: Any) -> Any:
    if value.dtype == tf.string:
        return tf.io.decode_base64(tf.io.encode_base64(value))
    if value.dtype in (tf.uint8, tf.uint16) and value.shape.rank and 0 not in value.shape:
        depth = value.shape[-1] if value.shape[-1] <= 4 and value.shape.rank > 1 else 1
        image = tf.reshape(value, [-1, value.shape[-1] if depth == 1 else value.shape[-2], depth])
        return tf.reshape(tf.io.decode_png(tf.io.encode_png(image), depth, value.dtype), value.shape)
    return tf.io.parse_tensor(tf.io.serialize_tensor(value), value.dtype)


WAYS: dict[str, Callable[..., dict[str, Any]]] = {
    "encoded": _encoded,
    "recurrent-layer": _recurrent_layer,
    "saved-model": _saved_model,
    "checkpoint": _checkpoint,
    "keras-file": _keras_file,
    "dataset": _dataset,
    "dataset-map": _dataset_map,
    "sparse-tensor": _sparse_tensor,
}


def run(way: str, module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """Outputs by name.

    Args:
        way: a key of ``WAYS``.
        module: the names that the generated module defines.
        weights: tensors by name.
        inputs: tensors by name.
    """
    return WAYS[way](module, weights, inputs)
