"""onnxruntime:basic gives -0.8944272 instead of -0.48507125007266594 in Add, Div, Mul, Pow... by LayerNormFusionL1

Seen with onnxruntime 1.31.1, reference 1.23.2.

    python repro.py    # exit code 1 where it shows, 0 where it does not, 2 where it cannot be told

Needs numpy, onnxruntime, onnx, and beside it model.onnx, inputs.npz.
It vanishes with InferenceSession(..., disabled_optimizers=['LayerNormFusionL1']).
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


def run_onnxruntime(inputs, level, off=()):
    import onnxruntime as ort

    print("onnxruntime", ort.__version__, level)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    session = ort.InferenceSession((HERE / "model.onnx").read_bytes(), options, providers=["CPUExecutionProvider"], disabled_optimizers=[*off])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, inputs)))


def run_reference(inputs):
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator((HERE / "model.onnx").read_bytes())
    return dict(zip(evaluator.output_names, evaluator.run(None, inputs)))


# The first is blamed, the others bear witness.
TARGETS = {
    'onnxruntime:basic': (run_onnxruntime, {'level': 'ORT_ENABLE_BASIC'}),
    'onnxruntime:disabled': (run_onnxruntime, {'level': 'ORT_DISABLE_ALL'}),
    'reference': (run_reference, {}),
}
# The blamed one without the graph transformers that make it.
MENDED = {'level': 'ORT_ENABLE_BASIC', 'off': ('LayerNormFusionL1',)}
BLAMED = 'onnxruntime:basic'
OUTPUT = 'y'


def look(outputs):
    """The element that is wrong."""
    return np.asarray(outputs[OUTPUT])[0, 0]


def differ(a, b):
    return abs(float(a) - float(b)) > 4.273713487989994e-06


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
        print(f"{name}: {OUTPUT!r}[0, 0] is {seen[name]}")
    print(f"{BLAMED} without {', '.join(MENDED['off'])}: {look(run_onnxruntime(load_inputs(), **MENDED))}")
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
