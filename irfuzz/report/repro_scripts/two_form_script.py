"""Files of a finding in which a target contradicts itself: two forms of one program, run by one script."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import onnx

import irfuzz.execute
from irfuzz.findings.finding import TargetRun
from irfuzz.report.repro_scripts.code_templates import PLUGIN

ORACLE = "equivalence"
"""Name of the oracle in the verdicts of such findings."""

BEFORE = ", as it was"
"""What follows a target's name where it ran the program before it was rewritten, in its own way."""

_WAYS = Path(irfuzz.execute.__file__).parent / "workers" / "ways"
_ORIGIN = "The program before it was made small, and its inputs, are in `original/`; `trace.json` rebuilds it."
_TOLD = "The program before it was rewritten, which the target is compared with, is in `original/`."

AS_IT_WAS = '''
def as_it_was(run):
    """The same target, given the model before it was rewritten."""

    def before(inputs, **options):
        global HERE
        whole, HERE = HERE, HERE / "original"
        for name in ("torch_model", "tensorflow_model", "numpy_model"):
            sys.modules.pop(name, None)
        try:
            return run({name: inputs[name] for name in INPUTS}, **options)
        finally:
            HERE = whole
            for name in ("torch_model", "tensorflow_model", "numpy_model"):
                sys.modules.pop(name, None)

    return before
'''

LOWERED = '''
def run_way(inputs, way, **options):
    """The model as FRAMEWORK source, run in another way; both are in files beside this one."""
    sys.path.insert(0, str(HERE))
    import FRAMEWORK_model as lowered
    import ways_FRAMEWORK

    stored = np.load(HERE / "FRAMEWORK_weights.npz")
    weights, given = lowered.tensors({name: stored[name + ".npy"] for name in stored.files}, inputs)
    outputs = ways_FRAMEWORK.run(way, vars(lowered), weights, given)
    return {name: lowered.to_array(value) for name, value in outputs.items()}
'''

ONNXRUNTIME = '''
def run_way(inputs, level, way, **settings):
    """ONNXRuntime, in the way that the file beside this one tells."""
    import onnxruntime as ort

    sys.path.insert(0, str(HERE))
    import ways_onnxruntime

    print("onnxruntime", ort.__version__, level, way)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    model = (HERE / "model.onnx").read_bytes()
    return ways_onnxruntime.run(way, model, inputs, options, ["CPUExecutionProvider"])
'''


def with_both_forms(
    files: Mapping[str, bytes], blamed: TargetRun, witnesses: Sequence[TargetRun], lowered: Mapping[str, bytes]
) -> dict[str, bytes]:
    """The files, with a ``repro.py`` that runs the form and the original on one target.

    Args:
        files: of the bundle, with ``repro.py`` as it is written for witnesses.
        blamed: the target, with the options of the other way to run if there is one.
        witnesses: the same target in its own way, whose name ends with ``BEFORE``.
        lowered: the original as source, for a target that needs it.
    """
    made = dict(files)
    text = made["repro.py"].decode()
    for party in witnesses:
        row = re.escape(f"    {party.name!r}: (")
        text = re.sub(f"(?m)^{row}(\\w+), ", lambda m: f"{m[0][: -len(m[1]) - 2]}as_it_was({m[1]}), ", text)
    way = str(blamed.options.get("way", ""))
    parts = [AS_IT_WAS.strip("\n")] if witnesses else []
    if way:
        text = re.sub(f"(?m)^{re.escape(f'    {blamed.name!r}: (')}\\w+, ", f"    {blamed.name!r}: (run_way, ", text)
        parts.append(_way_runner(blamed).strip("\n"))
        if "class" not in blamed.options:
            name = blamed.component
            source = (_WAYS / f"{name}.py").read_bytes()
            made[f"ways_{name}.py"] = source.replace(b"from .layers", b"from ways_layers")
            if name != "onnxruntime":
                made["ways_layers.py"] = (_WAYS / "layers.py").read_bytes()
    graph = onnx.load_model_from_string(made["original/model.onnx"]).graph
    stored = {tensor.name for tensor in graph.initializer}
    names = [value.name for value in graph.input if value.name not in stored]
    mark = "# The first is blamed, the others bear witness."
    settings = f"INPUTS = {names!r}\n{mark}"
    text = text.replace(mark, "\n\n\n".join([*parts, settings]), 1)
    made["repro.py"] = text.encode()
    made["report.md"] = made["report.md"].decode().replace(_ORIGIN, _TOLD).encode()
    made.update({f"original/{name}": data for name, data in lowered.items()})
    return made


def _way_runner(blamed: TargetRun) -> str:
    """Source of the function that runs the target in the other way."""
    if "class" in blamed.options:
        return PLUGIN.replace("def run_plugin(inputs, **options):", "def run_way(inputs, **options):").replace(
            ").run((HERE", ').run_way(options["way"], (HERE'
        )
    return ONNXRUNTIME if blamed.component == "onnxruntime" else LOWERED.replace("FRAMEWORK", blamed.component)
