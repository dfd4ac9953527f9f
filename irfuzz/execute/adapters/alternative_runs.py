"""Other ways to run a program on a target's component, as targets of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import onnx
from onnx import numpy_helper

from irfuzz.errors import UsageError
from irfuzz.execute.adapters.adapter import Adapter
from irfuzz.execute.run_types import Target
from irfuzz.execute.target_table import adapter_of

Options = Mapping[str, str | int | float | bool]

PLUGIN = "plugin"
"""Stands for the component of every class of a user's that has ``run_way``."""


@dataclass(frozen=True, slots=True)
class Way:
    """Another way to have a component compute a program, which must not change what comes out.

    Attributes:
        name: kebab-case, unique among ways and rewrites.
        eagle: number of the rule of EAGLE (ICSE 2022, table 1) that it realises.
        about: one line.
        options: by component, what its targets get in place of their own options.
        exact: computes with the same kernels, so that what comes out is the same to the bit.
        model: the model in another notation, as ONNX bytes; ``None`` if that would be the same.
        slow: takes seconds a program.
        dear: components that it takes several times what an ordinary run does: it runs by itself, in campaigns seldom.
    """

    name: str
    eagle: int
    about: str
    options: Mapping[str, Options] = field(default_factory=dict[str, Options])
    exact: bool = True
    model: Callable[[bytes], bytes | None] | None = None
    slow: bool = False
    dear: frozenset[str] = frozenset()


def sparse_initializers(model: bytes) -> bytes | None:
    """The model with its float initializers as sparse ones (ONNX IR.md); ``None`` if it has none.

    Args:
        model: ONNX bytes. Initializers stay as they are if they are scalars, lie in files or are also inputs; negative
            zeros are kept as elements.

    Returns:
        Other bytes, of a model that computes the same.
    """
    proto = onnx.load_model_from_string(model)
    graph = proto.graph
    named = {value.name for value in graph.input}
    kept: list[onnx.TensorProto] = []
    for tensor in graph.initializer:
        whole = tensor.data_location != onnx.TensorProto.EXTERNAL and tensor.name not in named
        if not whole or tensor.data_type not in (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE) or not tensor.dims:
            kept.append(tensor)
            continue
        array = numpy_helper.to_array(tensor)
        # A negative zero is no zero.
        (places,) = np.nonzero(array.reshape(-1).view(f"u{array.itemsize}"))
        values = numpy_helper.from_array(array.reshape(-1)[places], tensor.name)
        graph.sparse_initializer.add(
            values=values, indices=numpy_helper.from_array(places.astype(np.int64)), dims=list(array.shape)
        )
    if not graph.sparse_initializer:
        return None
    del graph.initializer[:]
    graph.initializer.extend(kept)
    return proto.SerializeToString()


def _way(name: str) -> Options:
    return {"way": name}


_TENSORFLOW = frozenset({"tensorflow"})
_BOTH = frozenset({"tensorflow", "torch"})

WAYS: tuple[Way, ...] = (
    Way(
        "optimised", 1, "not optimised -> optimised: ONNXRuntime's levels, torch.jit, tf.function",
        {"onnxruntime": {"level": "all"}, "torch": {"mode": "jit"}, "tensorflow": {"mode": "function"},
         PLUGIN: _way("optimised")}, exact=False, dear=_BOTH,
    ),
    Way("basic", 1, "not optimised -> ONNXRuntime's basic level", {"onnxruntime": {"level": "basic"}}, exact=False),
    Way("extended", 1, "not optimised -> its extended level", {"onnxruntime": {"level": "extended"}}, exact=False),
    Way(
        "compiled", 1, "not optimised -> compiled: torch.compile, XLA",
        {"torch": {"mode": "compile"}, "tensorflow": {"mode": "xla"}}, exact=False, slow=True,
    ),
    Way(
        "sparse", 8, "dense -> sparse tensors (COO), wherever there are kernels for them",
        {"torch": _way("sparse-coo"), "tensorflow": _way("sparse-tensor"), PLUGIN: _way("sparse")}, exact=False,
    ),
    Way("sparse-rows", 8, "dense -> sparse tensors (CSR)", {"torch": _way("sparse-csr")}, exact=False),
    Way(
        "sparse-initializers", 8, "dense -> sparse initializers", {"onnxruntime": {}, PLUGIN: {}}, exact=False,
        model=sparse_initializers,
    ),
    Way(
        "recurrent-layer", 10, "RNN, GRU, LSTM step by step -> torch.nn's of the other batch order, Keras' layers",
        {"torch": _way("recurrent-layer"), "tensorflow": _way("recurrent-layer")}, exact=False,
    ),
    Way(
        "encoded", 13, "inputs -> decode(encode(inputs)): torch.save, PNG, base64, tf.io.serialize_tensor",
        {"torch": _way("encoded"), "tensorflow": _way("encoded"), PLUGIN: _way("encoded")},
    ),
    Way(
        "pipeline", 11, "direct -> I/O binding, torch's DataLoader, tf.data",
        {"onnxruntime": _way("io-binding"), "torch": _way("data-loader"), "tensorflow": _way("dataset"),
         PLUGIN: _way("pipeline")}, dear=_TENSORFLOW,
    ),
    Way("pipeline-map", 11, "direct -> tf.data computes it", {"tensorflow": _way("dataset-map")}, exact=False,
        dear=_TENSORFLOW),
    Way(
        "reload", 16, "as it is -> saved and loaded: ORT format, state_dict, SavedModel",
        {"onnxruntime": _way("ort-format"), "torch": _way("state-dict"), "tensorflow": _way("saved-model"),
         PLUGIN: _way("reload")}, exact=False, dear=_TENSORFLOW,
    ),
    Way(
        "reload-other", 16, "as it is -> external data, TorchScript file, .keras file",
        {"onnxruntime": _way("external-data"), "torch": _way("script-file"), "tensorflow": _way("keras-file")},
        exact=False, dear=_BOTH,
    ),
    Way(
        "reload-weights", 16, "as it is -> optimised ONNX file, tf.train.Checkpoint",
        {"onnxruntime": _way("saved-onnx"), "tensorflow": _way("checkpoint")}, exact=False,
        dear=_TENSORFLOW,
    ),
)  # fmt: skip
"""EAGLE's rules that no rewrite of a program can express. A user's class is asked for the ways of ``PLUGIN``."""


def build_ways(wanted: Sequence[str] | None = None, *, slow: bool = False) -> dict[str, Way]:
    """The ways by name: those wanted, or all (the slow ones only if ``slow``).

    Args:
        wanted: names, whose order is kept; slow ones may be among them whatever ``slow`` says.
        slow: whether ``None`` stands for the slow ones, too.

    Raises:
        UsageError: one is unknown.
    """
    table = {way.name: way for way in WAYS}
    if wanted is None:
        return {name: way for name, way in table.items() if slow or not way.slow}
    unknown = [name for name in wanted if name not in table]
    if unknown:
        raise UsageError(f"unknown way {unknown[0]!r}; known: {', '.join(table)}")
    return {name: table[name] for name in wanted}


@dataclass(frozen=True, slots=True)
class OtherWay:
    """A target's other way to run a program."""

    way: Way
    target: Target

    @property
    def dear(self) -> bool:
        """Whether it takes several times what the target itself takes."""
        return self.target.component in self.way.dear


def others_of(target: Target, ways: Mapping[str, Way]) -> list[OtherWay]:
    """The ways that a target has, each as a target with a name of its own; none for those that optimise already."""
    component = PLUGIN if "class" in target.options else target.component
    own = dict(target.options)
    plain = own.get("mode", "eager") == "eager" and own.get("level", "disabled") == "disabled"
    found: list[OtherWay] = []
    for way in ways.values():
        # ONNXRuntime saves and binds at every level; the lowerings do so eagerly.
        if component not in way.options or not (plain or (way.eagle != 1 and "level" in own)):
            continue
        options = {**own, **way.options[component]}
        made = replace(target, name=f"{target.name}+{way.name}", options=options, slow=target.slow or way.slow)
        found.append(OtherWay(way, made))
    return found


def adapters_for(others: Mapping[str, Sequence[OtherWay]]) -> dict[str, Adapter]:
    """What runs the targets of ``others``, by name, from the names of the targets that they belong to.

    Args:
        others: by the name of each target, its other ways. A slow way with a mode of its own is run by the adapter of
            that mode, others by the adapter of the target.

    Raises:
        UsageError: a target is not known.
    """
    made: dict[str, Adapter] = {}
    for name, rows in others.items():
        for other in rows:
            mode = other.target.options.get("mode") if other.way.slow else None
            base = replace(other.target, name=name if mode is None else f"{name.partition(':')[0]}:{mode}")
            made[other.target.name] = adapter_of(base)
    return made
