"""onnxscript:optimize rejects a program that others run in Conv, Pad by FuseConvPad: IndexError: tuple index out of range

Seen with onnxscript 0.7.2, reference 1.23.2, onnxruntime 1.32.0.

    python repro.py    # exit code 1 where it shows, 0 where it does not, 2 where it cannot be told

Needs numpy, onnxscript, onnx, onnxruntime, and beside it model.onnx, inputs.npz, tool_onnxscript.py.
"""

import sys
from pathlib import Path

try:
    import numpy as np
except ImportError as error:
    print(error)
    sys.exit(2)

HERE = Path(__file__).resolve().parent


def load_inputs():
    arrays = np.load(HERE / "inputs.npz")
    return {name: arrays[name + ".npy"] for name in arrays.files if name != "__irfuzz__"}


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
        if hasattr(converter, "compute"):
            return converter.compute(source, weights, inputs, outputs=names, **options)
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
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
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


def run_reference(inputs):
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator((HERE / "model.onnx").read_bytes())
    return dict(zip(evaluator.output_names, evaluator.run(None, inputs)))


def run_onnxruntime(inputs, level):
    import onnxruntime as ort

    print("onnxruntime", ort.__version__, level)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    session = ort.InferenceSession((HERE / "model.onnx").read_bytes(), options, providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, inputs)))


# The first is blamed, the others bear witness.
TARGETS = {
    'onnxscript:optimize': (run_tool, {'do': 'optimize', 'tool': 'onnxscript'}),
    'reference': (run_reference, {}),
    'onnxruntime:disabled': (run_onnxruntime, {'level': 'ORT_DISABLE_ALL'}),
}
BLAMED = 'onnxscript:optimize'


def main():
    told = {}
    for name, (run, options) in TARGETS.items():
        try:
            run(load_inputs(), **options)
            told[name] = "answers"
        except ImportError as error:
            if name == BLAMED:
                raise
            print(f"{name}: left out, {error}")
            continue
        except Exception as error:
            told[name] = f"raises {type(error).__name__}: {error}"
        print(f"{name}: {told[name]}")
    blamed, *others = told.values()
    if blamed != "answers" and "answers" not in others and len(told) < len(TARGETS):
        print("who answered it is missing here")
        return 2
    return verdict(blamed != "answers" and "answers" in others)


def verdict(shows):
    print("the fault shows" if shows else "the fault does not show")
    return int(shows)


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = main()
    except BaseException as error:  # neither shown nor disproved
        print(f"cannot tell: {type(error).__name__}: {error}")
        code = 2
    sys.exit(code)
