"""The lines with which a short script runs a target, if few will do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import onnx

from irfuzz.findings.finding import TargetRun
from irfuzz.oracle.verdict import Symptom
from irfuzz.report.repro_scripts import tool_templates
from irfuzz.report.repro_scripts.full_script import kind_of_tool

_ORT = """import onnxruntime as ort
SETUP
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.LEVEL
"""

ONNXRUNTIME = f"""{_ORT}run = lambda: ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run([OUTPUT], inputs)[0]
"""  # noqa: E501 - as it is written

REFERENCE = """from onnx.reference import ReferenceEvaluator
SETUP
run = lambda: ReferenceEvaluator(model).run([OUTPUT], inputs)[0]
"""

OPENVINO = """import openvino
SETUP
def run():
    core = openvino.Core()
    made = core.compile_model(core.read_model(model, b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    ports = [port.get_names() & inputs.keys() for port in made.inputs]
    return made({name: inputs[name] for port in ports for name in port} if all(ports) else inputs)[made.outputs[INDEX]]
"""

ONNX2TORCH = """import re, torch
while True:
    try:
        import onnx2torch
        break
    except RuntimeError as error:  # torch's builds for CPUs lack what torchvision looks for
        torch.library.define(re.search(r"torchvision::\\w+", str(error))[0], "(Tensor x) -> Tensor")
        [sys.modules.pop(name) for name in [*sys.modules] if name.startswith(("torchvision", "onnx2torch"))]
SETUP
def run():
    module = onnx2torch.convert(onnx.load_model_from_string(model)).eval()
    with torch.inference_mode():
        made = module(*(torch.from_numpy(inputs[name]) for name in NAMES))
    return PICKED.numpy()
"""

_INFERS = """IMPORT
SETUP
def run():
    proto = onnx.load_model_from_string(model)
    for value in proto.graph.output:
        value.type.tensor_type.ClearField("shape")
    return MADE
"""
"""Where that raises; what is inferred wrongly takes the long script to tell."""

_CONVERTS = """IMPORT
import onnxruntime as ort
SETUP
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
def run():
    proto = onnx.load_model_from_string(model)
    session = ort.InferenceSession(MADE, options, providers=["CPUExecutionProvider"])
    return session.run([OUTPUT], {value.name: inputs[value.name] for value in session.get_inputs()})[0]
"""

_SAVES = _CONVERTS.replace("    proto = onnx.load_model_from_string(model)", "    STEP").replace("MADE", "path")

_MADE: Mapping[str, tuple[str, str]] = {
    "compose": ("import onnx.compose",
                "onnx.compose.add_prefix(proto, 'inner/', rename_inputs=False, rename_outputs=False)"),
    "float16": ("from onnxconverter_common import float16",
                "float16.convert_float_to_float16(proto, keep_io_types=True)"),
    "graphsurgeon:cleanup": ("import onnx_graphsurgeon as gs",
                             "gs.export_onnx(gs.import_onnx(proto).cleanup().toposort())"),
    "graphsurgeon:fold": ("import onnx_graphsurgeon as gs",
                          "gs.export_onnx(gs.import_onnx(proto).fold_constants(error_ok=False).cleanup().toposort())"),
    "inliner:local": ("import onnx.inliner", "onnx.inliner.inline_local_functions(proto)"),
    "inliner:schema": ("import onnx.inliner",
                       "onnx.inliner.inline_selected_functions(proto, [], exclude=True, inline_schema_functions=True)"),
    "onnxscript:optimize": ("import onnxscript.optimizer", "onnxscript.optimizer.optimize(proto)"),
    "onnxscript:rewrite": ("import onnxscript.rewriter", "onnxscript.rewriter.rewrite(proto)"),
    "onnx_optimizer": ("import onnxoptimizer", "onnxoptimizer.optimize(proto, PASSES, FIXED)"),
    "onnxsim": ("import onnxsim", "onnxsim.simplify(proto)[0]"),
    "onnxslim": ("import onnxslim", "onnxslim.slim(proto)"),
    "ort_float16": ("from onnxruntime.transformers import float16",
                    "float16.convert_float_to_float16(proto, keep_io_types=True)"),
    "version_converter": ("import onnx.version_converter", "onnx.version_converter.convert_version(proto, TO)"),
}  # fmt: skip
"""By tool and, where it matters, what it is to do: an import, and what makes a model of ``proto``."""

_INFERRED: Mapping[str, tuple[str, str]] = {
    "shape_inference": (
        "import onnx.shape_inference",
        "onnx.shape_inference.infer_shapes(proto, check_type=True, strict_mode=True, data_prop=DATA)",
    ),
    "symbolic_shapes": (
        "from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference",
        "SymbolicShapeInference.infer_shapes(proto, auto_merge=True)",
    ),
}

_FUSED = """path = os.path.join(tempfile.mkdtemp(), "fused.onnx")
    fused = optimizer.optimize_model(onnx.load_model_from_string(model), model_type=KIND, opt_level=0)
    fused.save_model_to_file(path)"""

_OPTIMISED = """path = os.path.join(tempfile.mkdtemp(), "optimised.onnx")
    saving = ort.SessionOptions()
    saving.graph_optimization_level = ort.GraphOptimizationLevel.LEVEL
    saving.optimized_model_filepath = path
    ort.InferenceSession(model, saving, providers=["CPUExecutionProvider"])"""

_SAVED: Mapping[str, tuple[str, str]] = {
    "ort_transformers": ("import tempfile\nfrom onnxruntime.transformers import optimizer", _FUSED),
    "ort_saved": ("import tempfile", _OPTIMISED),
}


def runner_of(party: TargetRun, model: onnx.ModelProto, output: str, symptom: Symptom) -> str | None:
    """Imports, a line ``SETUP`` that what is common replaces, and ``run``; ``None`` if only the long script will do.

    Args:
        party: the target.
        model: what it is given.
        output: the graph output in question.
        symptom: what is to be shown.
    """
    tool, places = kind_of_tool(party), [v.name for v in model.graph.output]
    if tool is None:
        if set(party.options) - {"level"}:
            return None
        plain = {"onnxruntime": ONNXRUNTIME, "reference": REFERENCE, "openvino": OPENVINO}.get(party.component)
        level = str(party.options.get("level", "all"))
        level = "ORT_DISABLE_ALL" if level == "disabled" else f"ORT_ENABLE_{level.upper()}"
        text = plain and plain.replace("LEVEL", level)
    else:
        text = _of_tool(tool.tool, party.options, model, output, symptom) if output in places else None
    if text is None or output not in places:
        return None
    held = {tensor.name for tensor in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name not in held]
    return filled(text, {"OUTPUT": repr(output), "INDEX": str(places.index(output)), "NAMES": repr(names)})


def filled(text: str, words: Mapping[str, str]) -> str:
    """Text with its words in capitals replaced, those within what replaces them left alone.

    Args:
        text: source with such words, each standing alone.
        words: what replaces each of them.
    """
    return re.sub(r"\b(" + "|".join(words) + r")\b", lambda found: words[found[1]], text)


def packages_of(party: TargetRun) -> list[str]:
    """What has to be installed for it, numpy and onnx apart; names as pip calls them, each once.

    The reference evaluator needs nothing more.
    """
    tool = kind_of_tool(party)
    names = [party.component] if tool is None else tool_templates.packages_of(tool)
    return [name for name in dict.fromkeys(names) if name not in ("reference", "onnx")]


def _of_tool(
    tool: str, options: Mapping[str, Any], model: onnx.ModelProto, output: str, symptom: Symptom
) -> str | None:
    if options.get("off"):
        return None
    if tool == "onnx2torch":
        return _onnx2torch(model, output)
    do = str(options.get("do", ""))
    if tool in _INFERRED:
        imported, made = _INFERRED[tool]
        text = _INFERS if symptom is Symptom.REJECTION else ""
        return (
            text.replace("IMPORT", imported).replace("MADE", made.replace("DATA", str(options.get("data_prop"))))
            or None
        )
    if tool in _SAVED:
        imported, step = _SAVED[tool]
        level = f"ORT_ENABLE_{str(options.get('level', '')).upper()}"
        step = step.replace("KIND", repr(options.get("model_type"))).replace("LEVEL", level)
        return _SAVES.replace("IMPORT", imported).replace("STEP", step)
    found = _MADE.get(f"{tool}:{do}") or (None if do == "merge" else _MADE.get(tool))
    if found is None:
        return None
    opset = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 0)
    made = f"{found[1]}.SerializeToString()"
    if tool == "version_converter":
        to, beyond = int(options["to"]), int(options["beyond"])
        made = made.replace("TO", str(to if (opset < to if to < beyond else opset > to) else beyond))
    if tool == "onnx_optimizer":
        only = options.get("only")
        passes = repr([only]) if only else "onnxoptimizer.get_fuse_and_elimination_passes()"
        made = made.replace("PASSES", passes).replace("FIXED", str(bool(options.get("fixed_point"))))
    return _CONVERTS.replace("IMPORT", found[0]).replace("MADE", made)


def _onnx2torch(model: onnx.ModelProto, output: str) -> str | None:
    """Its modules give the results of the nodes that make graph outputs, each node once."""
    makers = {name: node for node in model.graph.node for name in node.output if name}
    if any(value.name not in makers for value in model.graph.output):
        return None
    nodes = list(dict.fromkeys(makers[value.name].output[0] for value in model.graph.output))
    maker = makers[output]
    picked = "made" if len(nodes) == 1 else f"made[{nodes.index(maker.output[0])}]"
    if sum(map(bool, maker.output)) > 1:
        picked = f"({picked}[{list(maker.output).index(output)}] if isinstance({picked}, (list, tuple)) else {picked})"
    return ONNX2TORCH.replace("PICKED", picked)
