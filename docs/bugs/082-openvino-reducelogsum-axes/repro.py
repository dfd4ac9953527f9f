"""openvino gives float32[1,1,1] instead of float32[1,2,1] in ReduceLogSum

Seen with openvino 2026.4.1, reference 1.23.2, onnxruntime 1.31.1.

    python repro.py    # exit code 1 where it shows, 0 where it does not, 2 where it cannot be told

Needs numpy, openvino, onnx, onnxruntime, and beside it model.onnx, inputs.npz.
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


def run_openvino(inputs):
    """OpenVINO on the processor, in float32, which is not its default on every one."""
    import openvino

    print("openvino", openvino.__version__)
    core = openvino.Core()
    model = core.compile_model(core.read_model(HERE / "model.onnx"), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    names = {name for port in model.inputs for name in port.get_names()}
    found = model({name: value for name, value in inputs.items() if name in names})
    return {name: np.array(found[port]) for name, port in zip(['y'], model.outputs)}


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
    'openvino': (run_openvino, {}),
    'reference': (run_reference, {}),
    'onnxruntime:disabled': (run_onnxruntime, {'level': 'ORT_DISABLE_ALL'}),
}
BLAMED = 'openvino'
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
