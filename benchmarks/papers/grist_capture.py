"""Runs one program of GRIST's data set up to its first step, and keeps the graph that it has built.

The program and its helper modules come from a checkout of the data set and are run as they are, in a process of their
own, with ``tensorflow`` standing for ``tensorflow.compat.v1`` and small random digits for MNIST. GRIST's search, which
each program calls before its first step, is replaced by what ends the run: it says what the program computes, feeds and
steers, and so where its defect is. TensorFlow's graph is taken as it is; ``grist_torch`` makes one for PyTorch.

Run ``python -m benchmarks.papers.grist_capture CHECKOUT PROGRAM OUT.onnx`` (``grist.py`` does); beside the model
``OUT.json`` says what is fed and steered.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import types
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from benchmarks.papers import grist_data, grist_stand_ins


class Captured(BaseException):
    """The program has come to its first step; no ``except Exception`` of its own holds it up."""


class Search:
    """Stands for GRIST's ``GradientSearcher`` and its schedulers."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.seen: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


RUNS: deque[tuple[Any, Any, Any, Any]] = deque(maxlen=64)
"""The last runs of sessions: the session, what was fetched and fed, and what came of it."""


class TensorFlowSearch(Search):
    """Of TensorFlow's programs.

    A few search on their own and only show the loss that they have computed.
    """

    def loss_checker(self, loss_val: Any, *_: Any, **__: Any) -> None:
        """Keep the loss, and see at the end of the first step, or in the second one, which tensor it was."""
        if "loss" in self.seen:
            self.check_time()
        self.seen["loss"] = loss_val

    def check_time(self) -> None:
        """End the run after a step without a search.

        Raises:
            Captured: it was the first one.
        """
        for session, fetched, feeds, values in RUNS:
            if not isinstance(fetched, list | tuple):
                continue
            for tensor, value in zip(fetched, values, strict=True):
                if value is self.seen.get("loss"):
                    objective = vars(sys.modules["__main__"]).get("obj_function")
                    self.update_batch_data(session, {"loss": tensor, "obj_function": objective}, feeds or {})

    def update_batch_data(self, session: Any, monitor_var: Any, feed_dict: Any, *_: Any, **__: Any) -> Any:
        """End the run with what it was to do; read while the session is open."""
        part, told = kept(session, monitor_var, feed_dict)
        raise Captured(part, told, values_of(session, part))


class TorchSearch(Search):
    """Of PyTorch's programs."""

    def update_batch_data(self, monitor_var: Any, input_data: Any, clip: bool = True) -> Any:
        """End the run with what it was to do."""
        raise Captured(monitor_var["loss"], monitor_var["obj_function"], input_data, clip)


SEARCHES = {
    "scripts.utils.tf_utils": TensorFlowSearch,
    "scripts.utils.tf_utils_v2": TensorFlowSearch,
    "scripts.utils.torch_utils": TorchSearch,
}


def operands_of(tensor: Any) -> list[str]:
    """What an objective of GRIST's is about: behind the reductions, magnitudes and signs, the operand of the defect."""
    through = {"Min", "Max", "Abs", "Neg", "Mul", "Sum", "Mean", "Identity", "Sub"}
    found, pending, copies = list[str](), [tensor], ""
    while pending:
        current = pending.pop()
        if current.op.type == "Const":
            continue
        found.append(current.name)
        if copies and current.op.name.endswith(copies):
            found.append(f"{current.op.name.removesuffix(copies)}:{current.value_index}")
        if current.op.type in through:
            pending.extend(current.op.inputs)
        elif current.op.type in ("Variable", "VariableV2") and not copies:
            # It may stand for the value that it starts with, which TensorFlow copies for it.
            copies = f"_{current.op.name}"
            pending.extend(op.inputs[1] for op in current.consumers() if op.type == "Assign")
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
    ranges, shapes = {}, {}
    for tensor, value in feeds.items():
        array = np.asarray(value)
        shapes[tensor.name.removesuffix(":0")] = array.shape
        if array.dtype.kind in "fiub" and array.size:
            ranges[tensor.name] = [float(array.min()), float(array.max())]
    about = {"outputs": [t.name for t in loss], "ranges": ranges, "steered": steered, "shapes": shapes}
    about["starts"] = starts_of(session)
    return part, about


def starts_of(session: Any) -> dict[str, list[float]]:
    """Where variables of one sign start that are drawn evenly: of [0, 16), 0 is hardly ever drawn itself."""
    found = {}
    for op in session.graph.get_operations():
        drawn = op.inputs[1].op if op.type == "Assign" else None
        low = 0.0
        if drawn is not None and drawn.type in ("Add", "AddV2"):
            low, drawn = float(np.min(session.run(drawn.inputs[1]))), drawn.inputs[0].op
        if drawn is None or drawn.type != "Mul" or drawn.inputs[0].op.type != "RandomUniform" or low < 0:
            continue
        found[op.inputs[0].op.name] = [low, low + float(np.max(session.run(drawn.inputs[1])))]
    return found


def values_of(session: Any, part: Any) -> dict[str, tuple[str, np.ndarray]]:
    """By the node that reads it, each variable's name and value."""
    found = {}
    for node in part.node:
        if node.op in ("VariableV2", "Variable"):
            found[node.name] = node.name, session.run(f"{node.name}:0")
        elif node.op == "ReadVariableOp":
            found[node.name] = node.input[0], session.run(f"{node.name}:0")
    return found


def run(program: Path, checkout: Path) -> tuple[Any, ...] | None:
    """Run a program as ``__main__``; what it comes to its first step with, ``None`` if it ends before.

    The data set's own place, ``/data``, is that of the checkout.
    """
    os.chdir(program.parent)
    sys.path[:0] = [str(program.parent), str(checkout)]
    sys.argv = [str(program)]
    text = program.read_text(encoding="utf-8").replace("/data/scripts", str(checkout / "scripts"))
    sys.modules["__main__"] = main = types.ModuleType("__main__")
    main.__file__ = str(program)
    try:
        exec(compile(text, str(program), "exec"), vars(main))
    except Captured as captured:
        return captured.args
    return None


def recorded_sessions(tensorflow: Any) -> None:
    """Have sessions keep what they ran last."""
    for kind in (tensorflow.Session, tensorflow.InteractiveSession):

        def run_and_keep(
            self: Any, fetches: Any, feed_dict: Any = None, *args: Any, _run: Any = kind.run, **kwargs: Any
        ) -> Any:
            found = _run(self, fetches, feed_dict, *args, **kwargs)
            RUNS.append((self, fetches, feed_dict, found))
            return found

        kind.run = run_and_keep


def tensorflow_graph(program: Path, checkout: Path) -> tuple[bytes, dict[str, Any]] | None:
    """The graph of a program of TensorFlow, and what is said of it."""
    new = importlib.import_module("tensorflow")
    grist_stand_ins.old_tensorflow()
    recorded_sessions(sys.modules["tensorflow"])
    found = run(program, checkout)
    if found is None:
        return None
    part, told, values = found
    sys.modules["tensorflow"] = new
    grist_stand_ins.forget_packages()
    from irfuzz.frontends.workers.tensorflow import convert_graph

    fed = [f"{node.name}:0" for node in part.node if node.op in ("Placeholder", "PlaceholderWithDefault")]
    names = [[name.removesuffix(":0") for name in ends] for ends in (fed, told["outputs"])]
    told["ranges"] = {name.removesuffix(":0"): ends for name, ends in told["ranges"].items() if name in fed}
    model = convert_graph(part, (fed, told["outputs"]), (names[0], names[1]), "graph", values)
    own = {tensor.name for tensor in onnx.load_model_from_string(model).graph.initializer}
    told["ranges"] |= {name: ends for name, ends in told.pop("starts").items() if name in own}
    return sized(model, told.pop("shapes")), told


def sized(model: bytes, shapes: dict[str, tuple[int, ...]]) -> bytes:
    """The model with inputs as large as what is fed, if their size is open; how many there are stays open."""
    made = onnx.load_model_from_string(model)
    for value in made.graph.input:
        sizes = value.type.tensor_type.shape.dim
        for dim, size in zip(sizes[1:], shapes.get(value.name, ())[1:], strict=False):
            if not dim.HasField("dim_value"):
                dim.dim_value = size
    return made.SerializeToString()


def torch_graph(program: Path, checkout: Path) -> tuple[bytes, dict[str, Any]] | None:
    """The graph of the first step of a program of PyTorch, and what is said of it."""
    from benchmarks.papers import grist_torch

    with grist_torch.Recorder() as recorder:
        found = run(program, checkout)
    if found is None:
        return None
    loss, objective, data, limited = found
    grist_stand_ins.forget_packages()
    step = grist_torch.step_of(recorder.calls, loss, objective, data)
    model, told = grist_torch.exported(step, loss, limited=limited)
    return model.SerializeToString(), told


def main(arguments: Sequence[str]) -> int:
    checkout, program, out = (Path(a).resolve() for a in arguments)
    sys.meta_path.insert(0, grist_stand_ins.Finder(SEARCHES))
    grist_stand_ins.old_numpy()
    grist_stand_ins.old_sklearn()
    grist_data.take_downloads()
    torch = "import torch" in program.read_text(encoding="utf-8")
    with contextlib.suppress(SystemExit):
        made = (torch_graph if torch else tensorflow_graph)(program, checkout)
        if made is not None:
            out.write_bytes(made[0])
            out.with_suffix(".json").write_text(json.dumps(made[1]))
            return 0
    print("it ended without a step", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
