"""The part of a ``repro.py`` that runs a converter or tool, and the files that it needs beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from irfuzz.execute.adapters.adapter import WORKERS
from irfuzz.execute.adapters.converter_tools import ToolAdapter
from irfuzz.execute.adapters.tool_table import TOOL_ADAPTERS

TORCH_MODULE = "generated_torch_module.py"

TOOL = '''
def run_tool(inputs, tool, **options):
    """What a tool makes of the model, run by itself or on ONNXRuntime without optimisation."""
    import importlib

    sys.path.insert(0, str(HERE))
    converter = importlib.import_module("tool_" + tool)
    print(tool, converter.version(), options or "")
    model = (HERE / "model.onnx").read_bytes()
    if hasattr(converter, "load"):
        return converter.load(model, **options)(inputs)
    import onnx

    before = onnx.load_model_from_string(model)
    if hasattr(converter, "FRAMEWORK"):
        source = (HERE / (converter.FRAMEWORK + "_model.py")).read_text()
        stored = np.load(HERE / (converter.FRAMEWORK + "_weights.npz"))
        weights = {name: stored[name + ".npy"] for name in stored.files}
        names = [value.name for value in before.graph.output]
        if hasattr(converter, "build"):
            return converter.build(source, weights, inputs, outputs=names, **options)(inputs)
        return run_model(converter.export(source, weights, inputs, outputs=names, **options), inputs)
    if not getattr(converter, "INFERS", False):
        return run_model(converter.convert(model, **options), inputs)
    outputs = [value.name for value in before.graph.output]
    del before.graph.value_info[:]
    for value in before.graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    typed = onnx.load_model_from_string(converter.convert(before.SerializeToString(), **options)).graph
    for name in [name for node in before.graph.node for name in node.output if name and name not in outputs]:
        before.graph.output.add(name=name)
    computed = run_model(before.SerializeToString(), inputs)
    for value in (*typed.value_info, *typed.output):
        check_type(value, computed.get(value.name))
    return {name: computed[name] for name in outputs}


def run_model(model, inputs):
    import onnxruntime as ort

    print("onnxruntime", ort.__version__)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model, options, providers=[CPU])
    feeds = {value.name: inputs[value.name] for value in session.get_inputs() if value.name in inputs}
    return dict(zip([value.name for value in session.get_outputs()], session.run(None, feeds)))


def check_type(value, array):
    """Raise where an inferred type contradicts the computed value."""
    from onnx.helper import tensor_dtype_to_np_dtype

    tensor = value.type.tensor_type
    if not value.type.HasField("tensor_type") or not isinstance(array, np.ndarray) or array.dtype == object:
        return
    dtype = tensor_dtype_to_np_dtype(tensor.elem_type) if tensor.elem_type else array.dtype
    dims = [d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim]
    wrong = tensor.HasField("shape") and (
        len(dims) != array.ndim or any(d not in (None, size) for d, size in zip(dims, array.shape))
    )
    if wrong or dtype != array.dtype:
        raise TypeError(f"{value.name}: inferred {dtype} {dims}, computed {array.dtype} {list(array.shape)}")
'''


def adapter_of(options: Mapping[str, Any]) -> ToolAdapter | None:
    """The converter or tool that a target with such options is of, by the option ``tool``; ``None`` if there is no such
    option, or no such tool.
    """
    return next((a for a in TOOL_ADAPTERS if a.tool == options.get("tool")), None)


def packages_of(adapter: ToolAdapter) -> list[str]:
    """What a script that runs it needs installed: its own distribution, what that computes with, and onnx, and
    onnxruntime unless the tool itself gives values.
    """
    if adapter.npm:
        return ["onnx"]  # npm has the other
    return [adapter.distributions[0], *adapter.needs, "onnx", *([] if adapter.gives == "values" else ["onnxruntime"])]


def files_of(adapter: ToolAdapter) -> dict[str, bytes]:
    """The tool's own file, under the name by which the script imports it (the bytes of ``tool_NAME.py``), and what
    that imports of irfuzz's.
    """
    source = WORKERS / "node/one_run.py" if adapter.npm else adapter.file
    files = {f"tool_{adapter.tool}.py": source.read_bytes()}
    if adapter.takes == "torch":
        files[TORCH_MODULE] = (WORKERS / "tools/deployed" / TORCH_MODULE).read_bytes()
    return files
