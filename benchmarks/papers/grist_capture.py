"""Runs one program of GRIST's data set up to its first step, and keeps the graph that it has built.

The program and its helper modules come from a checkout of the data set and are run as they are, in a process of their
own, with ``tensorflow`` standing for ``tensorflow.compat.v1`` and small random digits for MNIST. GRIST's search, which
each program calls before its first step, is replaced by what ends the run: it says what the program computes, feeds and
steers, and so where its defect is.

Run ``python -m benchmarks.papers.grist_capture CHECKOUT PROGRAM OUT.onnx`` (``grist.py`` does); beside the model
``OUT.json`` says what is fed and steered.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import json
import os
import runpy
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

EXAMPLES = 256
SEARCHED = ("scripts.utils.tf_utils", "scripts.utils.tf_utils_v2")
DIGITS = "input_data"
DRAWING = ("PIL", "cv2", "imageio", "matplotlib", "pandas", "seaborn", "skimage", "tqdm")
"""Packages that show or read pictures and tables: what they do decides nothing of a graph."""


class Captured(BaseException):
    """The program has come to its first step; no ``except Exception`` of its own holds it up."""


class Search:
    """Stands for GRIST's ``GradientSearcher`` and ``TensorFlowScheduler``."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.seen: dict[str, Any] = {}

    def update_batch_data(self, session: Any, monitor_var: Any, feed_dict: Any, *_: Any, **__: Any) -> Any:
        """End the run with what it was to do; read while the session is open."""
        part, told = kept(session, monitor_var, feed_dict)
        raise Captured(part, told, values_of(session, part))

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


class Split:
    """A part of MNIST: random pictures between 0 and 1."""

    def __init__(self, one_hot: bool, reshape: bool) -> None:
        rng = np.random.default_rng(29)
        self.images = rng.random((EXAMPLES, 784)).astype(np.float32)
        self.images[:, ::3] = 0
        self.images[:, 1::7] = 1
        if not reshape:
            self.images = self.images.reshape(-1, 28, 28, 1)
        labels = rng.integers(0, 10, EXAMPLES)
        self.labels = np.eye(10, dtype=np.float64)[labels] if one_hot else labels
        self.num_examples = EXAMPLES

    def next_batch(self, count: int, *_: Any, **__: Any) -> tuple[np.ndarray, np.ndarray]:
        """The first ones, again and again."""
        places = np.arange(count) % EXAMPLES
        return self.images[places], self.labels[places]


def read_data_sets(*_: Any, one_hot: bool = False, reshape: bool = True, **__: Any) -> Any:
    """As TensorFlow's example module has it."""
    parts = {name: Split(one_hot, reshape) for name in ("train", "validation", "test")}
    return types.SimpleNamespace(**parts)


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


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules that are replaced."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:  # noqa: ARG002 - the protocol's
        """By name."""
        drawing = fullname.partition(".")[0] in DRAWING
        examples = fullname.startswith(("tensorflow.examples", "tensorflow.contrib.learn"))
        if fullname in SEARCHED or fullname.rpartition(".")[2] == DIGITS or drawing or examples:
            return importlib.machinery.ModuleSpec(fullname, self, is_package=drawing or examples)
        return None

    def create_module(self, spec: Any) -> types.ModuleType:
        """What stands for it."""
        if spec.name in SEARCHED:
            module = types.ModuleType(spec.name)
            module.GradientSearcher = module.TensorFlowScheduler = Search  # type: ignore[attr-defined]
            return module
        if spec.name.rpartition(".")[2] == DIGITS:
            module = types.ModuleType(spec.name)
            module.read_data_sets = read_data_sets  # type: ignore[attr-defined]
            return module
        return Anything(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing is to be run."""


def first_version() -> None:
    """TensorFlow's first interface, under its old name."""
    import tensorflow as tf

    old = tf.compat.v1
    old.disable_v2_behavior()
    old.contrib = Anything("tensorflow.contrib")
    for name in ("examples", "contrib"):
        sys.modules.pop(f"tensorflow.{name}", None)
    sys.modules["tensorflow"] = old


def operands_of(tensor: Any) -> list[str]:
    """What an objective of GRIST's is about: behind the reductions, magnitudes and signs, the operand of the defect."""
    through = {"Min", "Max", "Abs", "Neg", "Mul", "Sum", "Mean", "Identity", "Sub"}
    found, pending = [], [tensor]
    while pending:
        current = pending.pop()
        if current.op.type == "Const":
            continue
        found.append(current.name)
        if current.op.type in through:
            pending.extend(current.op.inputs)
    return found


def kept(session: Any, monitored: dict[str, Any], feeds: dict[Any, Any]) -> tuple[Any, dict[str, Any]]:
    """The part of the graph that computes the loss, with variables, ranges and the operand that is steered."""
    import tensorflow as tf

    graph = session.graph
    outputs = [t for n, t in monitored.items() if "grad" not in n and hasattr(t, "op")]
    loss = [t for n, t in monitored.items() if "loss" in n.lower() and hasattr(t, "op")] or outputs
    objectives = [t for n, t in monitored.items() if "obj" in n.lower() and "grad" not in n.lower()]
    steered = [name for t in objectives for name in operands_of(t)]
    part = tf.graph_util.extract_sub_graph(graph.as_graph_def(add_shapes=True), [t.op.name for t in loss])
    ranges = {}
    for tensor, value in feeds.items():
        array = np.asarray(value)
        if array.dtype.kind in "fiub" and array.size:
            ranges[tensor.name] = [float(array.min()), float(array.max())]
    about = {"outputs": [t.name for t in loss], "ranges": ranges, "steered": steered}
    return part, about


def values_of(session: Any, part: Any) -> dict[str, tuple[str, np.ndarray]]:
    """By the node that reads it, each variable's name and value."""
    found = {}
    for node in part.node:
        if node.op in ("VariableV2", "Variable"):
            found[node.name] = node.name, session.run(f"{node.name}:0")
        elif node.op == "ReadVariableOp":
            found[node.name] = node.input[0], session.run(f"{node.name}:0")
    return found


def main(arguments: Sequence[str]) -> int:
    checkout, program, out = (Path(a).resolve() for a in arguments)
    os.chdir(program.parent)
    sys.path[:0] = [str(program.parent), str(checkout)]
    sys.meta_path.insert(0, Finder())
    new = importlib.import_module("tensorflow")
    first_version()
    sys.argv = [str(program)]
    try:
        runpy.run_path(str(program), run_name="__main__")
    except Captured as captured:
        part, told, values = captured.args
    else:
        print("it ended without a step")
        return 1
    sys.modules["tensorflow"] = new
    from irfuzz.frontends.workers.tensorflow import convert_graph

    fed = [f"{node.name}:0" for node in part.node if node.op in ("Placeholder", "PlaceholderWithDefault")]
    names = [[name.removesuffix(":0") for name in ends] for ends in (fed, told["outputs"])]
    out.write_bytes(convert_graph(part, (fed, told["outputs"]), (names[0], names[1]), "graph", values))
    told["ranges"] = {name.removesuffix(":0"): ends for name, ends in told["ranges"].items() if name in fed}
    out.with_suffix(".json").write_text(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
