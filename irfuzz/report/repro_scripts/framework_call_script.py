"""Writes a short script of a framework's own calls that show a finding."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from irfuzz.execute.adapters.adapter import WORKERS
from irfuzz.findings.finding import TargetRun
from irfuzz.report.repro_scripts.full_script import ReproSpec, kind_of_tool
from irfuzz.report.repro_scripts.model_source import array_source, few_elements
from irfuzz.report.repro_scripts.short_script import about_lines, judged_lines, script_text
from irfuzz.report.repro_scripts.target_snippets import filled
from irfuzz.report.script_replay import copied, run_script

_OF_ONNX = """    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(WRITTEN, options, providers=["CPUExecutionProvider"])
    return session.run([OUTPUT], {value.name: inputs[value.name] for value in session.get_inputs()})[0]"""

_FUNCTION = """def forward(ARGUMENTS):
    BODY
    return OUTPUTS"""

_MODULE = """class Model(torch.nn.Module):
    def forward(self, ARGUMENTS):
        BODY
        return OUTPUTS"""


@dataclass(frozen=True, slots=True)
class CallForm:
    """How a script makes the calls of a target.

    Attributes:
        framework: whose calls they are.
        defined: what holds them.
        eager: makes them one by one.
        run: makes the target do so.
        imports: what that needs beside the framework.
        packages: the same, as pip calls it.
    """

    framework: str
    defined: str
    eager: str
    run: str
    imports: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ScriptFramework:
    """How a script writes for a framework.

    Attributes:
        module: what it imports.
        tensors: of the inputs.
        tensor: of one array.
    """

    module: str
    tensors: str
    tensor: str


FRAMEWORKS: Mapping[str, ScriptFramework] = {
    "torch": ScriptFramework(
        "import torch", "tensors = tuple(map(torch.from_numpy, inputs.values()))", "torch.from_numpy({})"
    ),
    "tensorflow": ScriptFramework(
        "import tensorflow as tf", "tensors = [*map(tf.constant, inputs.values())]", "tf.constant({})"
    ),
}

_TORCH = CallForm(
    "torch", _FUNCTION, "forward(*tensors)[INDEX].numpy()", "run = lambda: forward(*tensors)[INDEX].numpy()"
)
_TORCH_MODULE = replace(_TORCH, defined=_MODULE, eager="Model()(*tensors)[INDEX].numpy()")
_TENSORFLOW = replace(_TORCH, framework="tensorflow")

TORCH_ONNX = (
    """def run():
    path = os.path.join(tempfile.mkdtemp(), "model.onnx")
    torch.onnx.export(Model(), tensors, path, input_names=[*inputs], output_names=NAMES, opset_version=OPSET, dynamo=DO)
"""
    + _OF_ONNX
).replace("WRITTEN", "path")

TF2ONNX = """def run():
    specs = [tf.TensorSpec(t.shape, t.dtype, name=f"x{place}") for place, t in enumerate(tensors)]
    proto, _ = tf2onnx.convert.from_function(tf.function(forward, input_signature=specs), specs, opset=17)
    given = dict(zip([spec.name for spec in specs], inputs.values()))
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {value.name: given[value.name.split(":")[0]] for value in session.get_inputs()})[INDEX]"""

JIT = """def run():
    traced = torch.jit.trace(forward, tensors, check_trace=False)
    traced(*tensors)  # it is optimised only once it has run
    return traced(*tensors)[INDEX].numpy()"""

FORMS: Mapping[tuple[str, str], CallForm] = {
    ("torch", "eager"): _TORCH,
    ("torch", "compile"): replace(_TORCH, run="run = lambda: torch.compile(forward)(*tensors)[INDEX].numpy()"),
    ("torch", "jit"): replace(_TORCH, run=JIT),
    ("torch", "export"): replace(
        _TORCH_MODULE,
        run="run = lambda: torch.export.export(Model(), tensors, strict=False).module()(*tensors)[INDEX].numpy()",
    ),
    ("torch_onnx", "script"): replace(
        _TORCH_MODULE,
        run=TORCH_ONNX.replace("OPSET", "17").replace("DO)", "False)"),
        imports=("import tempfile, onnxruntime as ort",),
        packages=("onnx", "onnxruntime"),
    ),
    ("torch_onnx", "dynamo"): replace(
        _TORCH_MODULE,
        run=TORCH_ONNX.replace("OPSET", "18").replace("DO)", "True)"),
        imports=("import tempfile, onnxruntime as ort",),
        packages=("onnx", "onnxscript", "onnxruntime"),
    ),
    ("tensorflow", "eager"): _TENSORFLOW,
    ("tensorflow", "function"): replace(
        _TENSORFLOW, run="run = lambda: tf.function(forward, autograph=False)(*tensors)[INDEX].numpy()"
    ),
    ("tensorflow", "xla"): replace(
        _TENSORFLOW,
        run="run = lambda: tf.function(forward, autograph=False, jit_compile=True)(*tensors)[INDEX].numpy()",
    ),
    ("tf2onnx", ""): replace(
        _TENSORFLOW,
        run=TF2ONNX,
        imports=("import tf2onnx, onnxruntime as ort",),
        packages=("onnx", "tf2onnx", "onnxruntime"),
    ),
}
"""By component or tool, and its mode."""

SECONDS = 120.0
"""For one look at the calls; importing a framework takes most of it."""


def form_of(party: TargetRun) -> CallForm | None:
    """How a short script runs a target by the calls of a framework; ``None`` if none does.

    Args:
        party: a framework in one of its modes, such as ``torch:compile``, or a converter that takes a framework's
            calls.
    """
    if "device" in party.options:
        return None  # the calls would run on the processor
    tool = kind_of_tool(party)
    if tool is None:
        return FORMS.get((party.component, str(party.options.get("mode", "eager"))))
    mode = ("dynamo" if party.options["dynamo"] else "script") if "dynamo" in party.options else ""
    return FORMS.get((tool.tool, mode))


def calls_in(folder: Path, framework: str, *, seconds: float = SECONDS) -> dict[str, Any] | None:
    """The calls of a folder's generated source; ``None`` if they cannot be told.

    The source runs in a process of its own, on a copy of the folder, which ends after ``seconds``.
    """
    listing = [sys.executable, "-P", str(WORKERS / "calls" / f"{framework}_call_listing.py")]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        with copied(folder) as (own, work):
            ended = run_script([*listing, str(own)], work, env, seconds=seconds, errors=False)
    except OSError:
        return None  # there is no room for a copy
    if ended.code != 0:
        return None
    try:
        found = json.loads(ended.output)
    except ValueError:
        return None  # it died in the middle of a line
    return found if isinstance(found, dict) else None


def calls_source(
    scene: ReproSpec,
    model: onnx.ModelProto,
    calls: Mapping[str, Any],
    inputs: Mapping[str, Any],
    weights: Mapping[str, np.ndarray],
) -> str | None:
    """The script's text; ``None`` if the long one has to do.

    Args:
        scene: what is to be shown.
        model: the reduced program.
        calls: as ``calls_in`` gives them.
        inputs: values by graph input name.
        weights: arrays of the generated source by name.
    """
    if scene.blamed.environment or scene.odd_inputs or scene.odd_types or scene.runs > 1:
        return None
    form = form_of(scene.blamed)
    names = [name for name, _ in calls["outputs"]]
    used = {place: weights[name] for name, place in calls["weights"].items()}
    output = scene.output or names[0]  # of a run that ends, any will do
    if form is None or output not in names or set(calls["arguments"]) != set(inputs):
        return None
    if not few_elements([*used.values(), *inputs.values()]):
        return None
    index = str(names.index(output))
    eager = any(w.name == f"{form.framework}:eager" for w in scene.witnesses)
    judged = judged_lines(scene, form.eager.replace("INDEX", index) if eager else "")
    if judged is None:
        return None
    framework = FRAMEWORKS[form.framework]
    outputs = ", ".join(source for _, source in calls["outputs"]) + ("," if len(names) == 1 else "")
    held = [f"{place} = {framework.tensor.format(array_source(array))}" for place, array in used.items()]
    inside = form.run is TF2ONNX  # what a function captures would become an input there
    fixed = {"ARGUMENTS": ", ".join(calls["arguments"].values()), "OUTPUTS": outputs}
    built = [
        "inputs = {" + ", ".join(f"{name!r}: {array_source(inputs[name])}" for name in calls["arguments"]) + "}",
        *([] if inside else held),
        _with_body(filled(form.defined, fixed), [*(held if inside else []), *calls["body"]]),
        framework.tensors,
        filled(form.run, {"INDEX": index, "NAMES": repr(names), "OUTPUT": repr(output)}),
    ]
    about = about_lines(scene, model, [*form.packages, form.framework])
    return script_text(scene, about, [*form.imports, framework.module], built, judged)


def _with_body(text: str, body: Sequence[str]) -> str:
    """A definition with its lines; without any it only returns."""
    return re.sub(r"( *)BODY\n", lambda found: "".join(f"{found[1]}{line}\n" for line in body), text)
