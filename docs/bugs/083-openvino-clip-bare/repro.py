"""openvino crashes in Clip, TfIdfVectorizer: SIGSEGV in read_model

Seen with openvino 2026.4.1.

    python repro.py    # exit code 1 where it shows, 0 where it does not, 2 where it cannot be told

Needs numpy, openvino, and beside it model.onnx, inputs.npz.
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


def run_openvino(inputs):
    """OpenVINO on the processor, in float32, which is not its default on every one."""
    import openvino

    print("openvino", openvino.__version__)
    core = openvino.Core()
    model = core.compile_model(core.read_model(HERE / "model.onnx"), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    names = {name for port in model.inputs for name in port.get_names()}
    found = model({name: value for name, value in inputs.items() if name in names})
    return {name: np.array(found[port]) for name, port in zip(['y'], model.outputs)}


# The first is blamed, the others bear witness.
TARGETS = {
    'openvino': (run_openvino, {}),
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
    return verdict(blamed.startswith(("dies", "exits")))


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
