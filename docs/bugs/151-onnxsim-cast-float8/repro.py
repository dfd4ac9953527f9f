"""onnxsim gives uint8[] instead of float8_e4m3fn[] in Cast by constant_folding

Seen with onnxsim 0.8.1, reference 1.23.2, onnxruntime 1.32.0.

    python repro.py    # exit code 1 where it shows, 0 where it does not, 2 where it cannot be told

Needs numpy, onnxsim, onnx, onnxruntime, and beside it model.onnx, inputs.npz, tool_onnxsim.py.
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
    values = session.run_with_ort_values(None, {name: to_ort(value) for name, value in inputs.items()})
    return {output.name: from_ort(value) for output, value in zip(session.get_outputs(), values)}


def to_ort(array):
    """A tensor of ONNXRuntime; elements of a type that numpy lacks are packed as ONNX packs them."""
    import onnxruntime as ort
    from onnx.numpy_helper import from_array

    if array.dtype.isbuiltin != 2:  # 2: of another package than numpy
        return ort.OrtValue.ortvalue_from_numpy(array)
    proto = from_array(array)
    buffer = np.zeros(array.shape, "u2" if array.dtype.itemsize == 2 else "u1")
    buffer.reshape(-1).view("u1")[: len(proto.raw_data)] = np.frombuffer(proto.raw_data, "u1")
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(buffer, proto.data_type)


def from_ort(value):
    import ctypes

    from onnx import TensorProto
    from onnx.numpy_helper import to_array

    data = ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes()) if all(value.shape()) else b""
    return to_array(TensorProto(data_type=value.element_type(), dims=value.shape(), raw_data=data))


# The first is blamed, the others bear witness.
TARGETS = {
    'onnxsim': (run_tool, {'tool': 'onnxsim'}),
    'reference': (run_reference, {}),
    'onnxruntime:disabled': (run_onnxruntime, {'level': 'ORT_DISABLE_ALL'}),
}
BLAMED = 'onnxsim'
OUTPUT = 'y'


def look(outputs):
    """Type and shape of the output in question."""

    def kind(value):
        if isinstance(value, (list, tuple)):
            return f"sequence of {[kind(item) for item in value]}"
        if value is None:
            return "nothing"
        array = np.asarray(value)
        return f"{'string' if array.dtype.kind in 'OUS' else array.dtype.name}{list(array.shape)}"

    return kind(outputs[OUTPUT]) if OUTPUT in outputs else "no such output"


def differ(a, b):
    return a != b


def main():
    seen = {}
    for name, (run, options) in TARGETS.items():
        try:
            seen[name] = look(run(load_inputs(), **options))
        except ImportError as error:
            if name == BLAMED:
                raise
            print(f"{name}: left out, {error}")
            continue
        print(f"{name}: {OUTPUT!r} is {seen[name]}")
    wrong, *others = seen.values()
    if not others:
        print("nothing is left to compare with")
        return 2
    agree = not any(differ(others[0], other) for other in others[1:])
    return verdict(agree and all(differ(wrong, other) for other in others))


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
