"""What stands for modules that programs of GRIST's data set import and that are not there, or do not matter here.

Their TensorFlow is the first one, their NumPy that of 2020. Where today's packages have lost a name, it is added again.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.papers import grist_data

DIGITS = "input_data"
SHOWN = (
    *("PIL", "cv2", "dill", "fire", "gdist", "hyperopt", "imageio", "matplotlib", "networkx", "nltk", "pandas"),
    *("plyfile", "pytorch_transformers", "rdflib", "seaborn", "skimage", "tabulate", "tqdm"),
)
"""Packages that show or read pictures, texts and tables: what they do decides nothing of a graph."""

READERS = frozenset({"pandas"})
"""Those that are not replaced where they are installed."""

REST = ("torch_cluster", "torch_scatter", "torch_sparse", "torch_spline_conv", "torchvision")
"""Packages beside PyTorch, of which the programs call little."""


class Anything(types.ModuleType):
    """A module whose every name is something that can be called and has every name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == DIGITS:
            raise AttributeError(name)
        return Anything(f"{self.__name__}.{name}")

    def __call__(self, *_: Any, **__: Any) -> Any:
        return self

    def __iter__(self) -> Any:
        return iter([self, self])  # fig, ax = plt.subplots()

    def __mro_entries__(self, _bases: Any) -> tuple[type, ...]:
        return (object,)


def scatter_add(src: Any, index: Any, dim: int = -1, out: Any = None, dim_size: int | None = None, **_: Any) -> Any:
    """As torch_scatter has it."""
    if out is None:
        shape = list(src.shape)
        shape[dim] = int(index.max()) + 1 if dim_size is None else dim_size
        out = src.new_zeros(shape)
    shape = [1] * src.dim()
    shape[dim] = -1
    return out.scatter_add(dim, index.reshape(shape).expand_as(src), src)


class Table:
    """Stands for the classes of pandas, which other packages ask for."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.rows: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(name)


def pandas() -> types.ModuleType:
    """With its classes as classes."""
    module = Anything("pandas")
    module.DataFrame, module.Series, module.Index = Table, Table, Table
    return module


def torchvision() -> types.ModuleType:
    """With pictures that come from here."""
    module = Anything("torchvision")
    sets = Anything("torchvision.datasets")
    sets.MNIST = sets.FashionMNIST = grist_data.torch_pictures
    module.datasets = sets
    return module


def torch_scatter() -> types.ModuleType:
    """With the sum, which a softmax needs."""
    module = Anything("torch_scatter")
    module.scatter_add = scatter_add
    return module


def openml() -> types.ModuleType:
    """scikit-learn's data sets, from here."""
    module = Anything("sklearn.datasets")
    module.fetch_openml = grist_data.fetch_openml
    return module


def input_data() -> types.ModuleType:
    """The module of TensorFlow's examples that reads MNIST."""
    module = types.ModuleType(DIGITS)
    module.read_data_sets = grist_data.read_data_sets  # type: ignore[attr-defined]
    return module


MADE: Mapping[str, Callable[[], types.ModuleType]] = {
    "pandas": pandas,
    "torchvision": torchvision,
    "torchvision.datasets": lambda: torchvision().datasets,
    "torch_scatter": torch_scatter,
    "sklearn.datasets": openml,
}


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules that are replaced.

    Args:
        searches: by the name of a module, what stands for its ``GradientSearcher`` and schedulers.
    """

    def __init__(self, searches: Mapping[str, type]) -> None:
        self._searches = searches
        self._packages = {*SHOWN, *REST} - {name for name in READERS if importlib.util.find_spec(name)}

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:  # noqa: ARG002 - the protocol's
        """By name."""
        package = fullname.partition(".")[0] in self._packages
        package |= fullname == "sklearn.datasets" or fullname.startswith(
            ("tensorflow.examples", "tensorflow.contrib.learn")
        )
        if fullname in self._searches or fullname.rpartition(".")[2] == DIGITS or package:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=package)
        return None

    def create_module(self, spec: Any) -> types.ModuleType:
        """What stands for it."""
        if spec.name in self._searches:
            module = types.ModuleType(spec.name)
            for name in ("GradientSearcher", "TensorFlowScheduler", "TorchScheduler"):
                setattr(module, name, self._searches[spec.name])
            return module
        if spec.name.rpartition(".")[2] == DIGITS:
            return input_data()
        return MADE.get(spec.name, lambda: Anything(spec.name))()

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing is to be run."""


def forget_packages() -> None:
    """Let later imports find the packages themselves, or none."""
    for name in list(sys.modules):
        if name.partition(".")[0] in (*SHOWN, *REST):
            del sys.modules[name]
    sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, Finder)]


def old_sklearn() -> None:
    """Its names of 2020, where it is installed."""
    if importlib.util.find_spec("sklearn") is None:
        return
    import sklearn.metrics._scorer as scorer
    import sklearn.utils as utils

    sys.modules.setdefault("sklearn.metrics.scorer", scorer)
    if "safe_indexing" not in vars(utils):
        utils.safe_indexing = utils._safe_indexing  # type: ignore[attr-defined]  # noqa: SLF001 - only its name is new


def old_numpy() -> None:
    """Its names of Python's types, and arrays of rows of several lengths."""
    for name, kind in (("bool", bool), ("float", float), ("int", int), ("object", object), ("str", str)):
        if name not in vars(np):
            setattr(np, name, kind)
    array = np.array

    def ragged(*args: Any, **kwargs: Any) -> Any:
        try:
            return array(*args, **kwargs)
        except ValueError as error:
            if "inhomogeneous" not in str(error) or "dtype" in kwargs:
                raise
            return array(*args, dtype=object, **kwargs)

    np.array = ragged  # type: ignore[assignment]


def old_tensorflow() -> None:
    """TensorFlow's first interface, under its old name."""
    import tensorflow as tf

    old = tf.compat.v1
    old.disable_v2_behavior()
    tf.keras.datasets.mnist.load_data = grist_data.load_data
    layers = types.ModuleType("tensorflow.layers")
    vars(layers).update(dense=dense, flatten=flatten)
    more = Anything("tensorflow.contrib.layers")
    vars(more).update(flatten=flatten, fully_connected=dense, l2_regularizer=l2_regularizer)
    more.xavier_initializer = old.glorot_uniform_initializer
    contrib = Anything("tensorflow.contrib")
    contrib.layers = more
    old.layers, old.contrib = layers, contrib
    for name in ("examples", "contrib"):
        sys.modules.pop(f"tensorflow.{name}", None)
    sys.modules |= {"tensorflow": old, "tensorflow.contrib": contrib, "tensorflow.contrib.layers": more}
    sys.modules["tensorflow.layers"] = layers


def flatten(inputs: Any, *_: Any, **__: Any) -> Any:
    """As ``tf.layers`` has it."""
    import tensorflow as tf

    return tf.reshape(inputs, [-1, int(np.prod(inputs.shape[1:].as_list()))])


def dense(
    inputs: Any, units: int, activation: Any = None, *, kernel_initializer: Any = None, name: str = "dense", **_: Any
) -> Any:
    """As ``tf.layers`` has it."""
    import tensorflow as tf

    old = tf.compat.v1
    with old.variable_scope(None, default_name=name):
        size = int(inputs.shape[-1])
        kernel = old.get_variable("kernel", [size, units], inputs.dtype, kernel_initializer)
        bias = old.get_variable("bias", [units], inputs.dtype, old.zeros_initializer())
        made = old.matmul(inputs, kernel) + bias
    return made if activation is None else activation(made)


def l2_regularizer(scale: float, *_: Any, **__: Any) -> Any:
    """As ``tf.contrib.layers`` has it."""
    import tensorflow as tf

    return lambda weights: scale * tf.reduce_sum(weights * weights) / 2  # tf2onnx does not know L2Loss
