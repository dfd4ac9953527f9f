"""onnxruntime:disabled crashes in InstanceNormalization, Slice: SIGSEGV

Seen with onnxruntime 1.31.1, reference 1.23.2.

    python repro.py    # exit code 1 where it shows, 0 where it does not, 2 where it cannot be told

Needs numpy, onnxruntime, onnx, and beside it model.onnx, inputs.npz.
"""

import os
import signal
import subprocess
import sys
import tempfile
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


def run_onnxruntime(inputs, level):
    import onnxruntime as ort

    print("onnxruntime", ort.__version__, level)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    session = ort.InferenceSession((HERE / "model.onnx").read_bytes(), options, providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, inputs)))


def run_reference(inputs):
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator((HERE / "model.onnx").read_bytes())
    return dict(zip(evaluator.output_names, evaluator.run(None, inputs)))


# The first is blamed, the others bear witness.
TARGETS = {
    'onnxruntime:disabled': (run_onnxruntime, {'level': 'ORT_DISABLE_ALL'}),
    'reference': (run_reference, {}),
}
SECONDS = 30.0


def child(name, told):
    """Run one target here, and leave word of how that ended."""
    run, options = TARGETS[name]
    try:
        run(load_inputs(), **options)
        text = "answers"
    except ImportError as error:
        text = f"misses something: {error}"
    except Exception as error:
        text = f"raises {type(error).__name__}: {error}"
    Path(told).write_text(text, errors="replace")


def ending(name):
    """How a run in a process of its own ends."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder, "told")
        process = subprocess.Popen([sys.executable, __file__, name, told])
        try:
            code = process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return f"hangs: no answer after {SECONDS} s"
        if told.exists():
            return told.read_text()
        return f"exits with {code}" if code >= 0 else f"dies by {signal.Signals(-code).name}"


def main():
    ends = {}
    for name in TARGETS:
        ends[name] = ending(name)
        print(f"{name}: {ends[name]}")
    blamed, *others = ends.values()
    if blamed.startswith("misses"):
        return 2
    return verdict(blamed.startswith(("dies", "exits")) and "answers" in others)


def verdict(shows):
    print("the fault shows" if shows else "the fault does not show")
    return int(shows)


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")
    if len(sys.argv) == 3:
        child(*sys.argv[1:])
        sys.stdout.flush()
        os._exit(0)
    try:
        code = main()
    except BaseException as error:  # neither shown nor disproved
        print(f"cannot tell: {type(error).__name__}: {error}")
        code = 2
    sys.exit(code)
