"""A finding enters, the text of its ``repro.py`` leaves: plain Python that needs onnx, numpy and what it blames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from irfuzz.errors import InternalError
from irfuzz.oracle.types import Symptom


@dataclass(frozen=True, slots=True)
class Party:
    """A target that takes part in a reproduction.

    Attributes:
        name: target name.
        component: what runs it; decides which runner the script needs.
        options: of the target.
    """

    name: str
    component: str
    options: Mapping[str, Any]


def repro_source(
    title: str,
    symptom: str,
    blamed: Party,
    witnesses: Sequence[Party],
    output: str,
    bound: float | None,
    seconds: float,
    memory: int,
) -> str:
    """The script's text.

    Args:
        title: one line.
        symptom: see ``Symptom``.
        blamed: the target at fault.
        witnesses: targets that it is compared with, those that agree with each other.
        output: the graph output that shows it; empty where the whole run is meant.
        bound: largest absolute difference that would still be accepted.
        seconds: after which a run counts as hanging.
        memory: bytes that a run may take beyond its imports.

    Raises:
        InternalError: a target of an unknown kind.
    """
    parties = [blamed, *witnesses]
    kinds = dict.fromkeys(_kind(p) for p in parties)
    table = "".join(f"    {p.name!r}: ({_RUNNER[_kind(p)]}, {dict(p.options)!r}),\n" for p in parties)
    parts = [
        # repr() keeps a hostile title inside its own line.
        f'"""Shows: {repr(title)[1:-1].replace(chr(34), chr(39))}\n\n{_USAGE}"""',
        _HEAD,
        *(_RUNNERS[kind] for kind in kinds),
        f"TARGETS = {{\n{table}}}\n"
        f"BLAMED, WITNESSES = {blamed.name!r}, {[w.name for w in witnesses]!r}\n"
        f"OUTPUT, BOUND, SECONDS, MEMORY = {output!r}, {_number(bound)}, {seconds!r}, {memory!r}",
        _CHILD,
        _CHECKS[Symptom(symptom)],
        _MAIN,
    ]
    return "\n\n\n".join(part.strip("\n") for part in parts) + "\n"


def _number(bound: float | None) -> str:
    return "0.0" if bound is None or bound != bound else f"float({str(float(bound))!r})"


def _kind(party: Party) -> str:
    if "class" in party.options:
        return "plugin"
    if party.component in _RUNNERS:
        return party.component
    raise InternalError(f"no reproduction is written for targets of {party.component}")


_USAGE = """Run `python repro.py`: exit code 1 where the fault shows, 0 where it does not, 2 where something is missing.
It needs onnx, numpy and the packages that it compares, and the files beside it.
"""

_HEAD = '''
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
MODEL = (HERE / "model.onnx").read_bytes()


def load_inputs():
    """Values by name; types that numpy lacks are stored as integers of their width, see "dtype"."""
    arrays = np.load(HERE / "inputs.npz", allow_pickle=False)

    def value(entry):
        if entry is None:
            return None
        if "items" in entry:
            return [value(item) for item in entry["items"]]
        if "strings" in entry:
            return np.array(entry["strings"], dtype=object).reshape(entry["shape"])
        array = arrays[entry["array"]]
        if array.dtype.name != entry["dtype"]:
            import ml_dtypes

            array = array.view(getattr(ml_dtypes, entry["dtype"]))
        return array

    return {name: value(entry) for name, entry in json.loads(str(arrays["__irfuzz__"]))["values"].items()}
'''

_RUNNERS: Mapping[str, str] = {
    "reference": '''
def run_reference(inputs, options):
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(MODEL)
    return dict(zip(evaluator.output_names, evaluator.run(None, inputs)))
''',
    "onnxruntime": '''
def run_onnxruntime(inputs, options):
    import onnxruntime as ort

    print("onnxruntime", ort.__version__, options)
    settings = ort.SessionOptions()
    settings.log_severity_level = 4
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    name = {"disabled": "ORT_DISABLE_ALL"}.get(options["level"], "ORT_ENABLE_" + options["level"].upper())
    settings.graph_optimization_level = getattr(ort.GraphOptimizationLevel, name)
    session = ort.InferenceSession(MODEL, settings, providers=[options.get("provider", "CPUExecutionProvider")])
    feeds = {}
    for key, value in inputs.items():
        if isinstance(value, np.ndarray) and not value.dtype.isbuiltin:
            import onnx_ir

            kind = onnx_ir.DataType.from_numpy(value.dtype)
            data = np.frombuffer(onnx_ir.Tensor(value, dtype=kind).tobytes(), np.uint8)
            buffer = np.zeros(value.shape, "u2" if kind.bitwidth == 16 else "u1")
            buffer.reshape(-1).view(np.uint8)[: data.size] = data
            value = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(buffer, int(kind))
        feeds[key] = value
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds)))
''',
    "torch": '''
def run_torch(inputs, options):
    import importlib.util

    import torch

    print("torch", torch.__version__)
    torch.set_num_threads(1)
    spec = importlib.util.spec_from_file_location("torch_model", HERE / "torch_model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    bits = {k: v.view(f"u{v.dtype.itemsize}") if getattr(v, "dtype", None) is not None and v.dtype.kind == "V" else v
            for k, v in inputs.items()}
    return module.run(dict(np.load(HERE / "torch_weights.npz", allow_pickle=False)), bits)
''',
    "plugin": '''
def run_plugin(inputs, options):
    import importlib
    import importlib.util

    place, _, name = options["class"].rpartition(":")
    if place.endswith(".py"):
        spec = importlib.util.spec_from_file_location("plugin", place)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(place)
    return getattr(module, name)().run(MODEL, inputs)
''',
}

_RUNNER = {kind: f"run_{kind}" for kind in _RUNNERS}

_CHILD = '''
def child(name, path):
    """Run one target in this process and leave its outputs in a file."""
    import resource

    run, options = TARGETS[name]
    inputs = load_inputs()
    if run.__name__ == "run_plugin":
        sys.path.insert(0, os.getcwd())
    if MEMORY:
        import onnx  # noqa: F401 - what is imported already does not count

        limit = MEMORY + 2 * 2**30
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    outputs = run(inputs, options)
    if not isinstance(outputs, dict):
        print("outputs are a", type(outputs).__name__)
        os._exit(3)
    kinds, arrays = {}, {}

    def put(key, value):
        if isinstance(value, (list, tuple)):
            kinds[key] = f"sequence of {len(value)}"
            for i, item in enumerate(value):
                put(f"{key}/{i}", item)
        elif value is not None:
            array = np.asarray(value)
            kinds[key] = f"{array.dtype.name}{list(array.shape)}"
            arrays[key] = array.astype(str) if array.dtype == object else array
            if array.dtype.kind == "V" or not array.dtype.isbuiltin:
                arrays[key] = array.astype(np.float64)

    for key, value in outputs.items():
        put(key, value)
    np.savez(path, __kinds__=np.array(json.dumps(kinds)), **{f"={k}": v for k, v in arrays.items()})


def outcome(name):
    """What became of one target: ``(word, detail, kinds, arrays)``."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "outputs.npz")
        command = [sys.executable, __file__, "--run", name, path]
        env = {**os.environ, "OMP_NUM_THREADS": "1", "ORT_DISABLE_TELEMETRY": "1"}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                   env=env, start_new_session=True)
        try:
            log, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.communicate()
            return "hangs", f"no answer after {SECONDS} s", {}, {}
        last = (log.strip().splitlines() or [""])[-1][:200]
        if process.returncode < 0:
            return "dies", f"signal {-process.returncode}", {}, {}
        if "No module named" in last and "ModuleNotFoundError" in last:
            print(f"{name}: {last}")
            sys.exit(2)
        if process.returncode == 1:
            return ("memory" if "MemoryError" in last or "bad_alloc" in last else "raises"), last, {}, {}
        if process.returncode or not os.path.exists(path):
            return "ends", f"exit code {process.returncode}, {last}", {}, {}
        with np.load(path, allow_pickle=False) as found:
            kinds = json.loads(str(found["__kinds__"]))
            arrays = {k[1:]: found[k] for k in found.files if k != "__kinds__"}
        return "answers", "", kinds, arrays
'''

_RUNS = '''
def shows(blamed, witnesses):
    """{what}"""
    return {test}
'''

_VALUES = '''
def mine(arrays):
    """Arrays of the output in question (several where it is a sequence)."""
    return {{k: v for k, v in arrays.items() if k == OUTPUT or k.startswith(OUTPUT + "/")}}


def shows(blamed, witnesses):
    """{what}"""
    if blamed[0] != "answers" or any(w[0] != "answers" for w in witnesses):
        return False
    return {test}
'''

_NUMBERS = '''
def special(array):
    """0 for a finite number, 1 for NaN, 2 and 3 for the infinities."""
    array = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    return np.where(np.isnan(array), 1, np.where(np.isinf(array), np.where(array.real > 0, 2, 3), 0))


def distance(a, b):
    """Largest absolute difference where both are finite."""
    if a.dtype.kind in "US":
        return float(np.any(a != b))
    if a.dtype.kind in "biu" and b.dtype.kind in "biu":
        return float(max((abs(int(x) - int(y)) for x, y in zip(a.ravel(), b.ravel())), default=0))
    with np.errstate(all="ignore"):
        gap = np.abs(a.astype(np.float64) - b.astype(np.float64))[(special(a) == 0) & (special(b) == 0)]
    return float(gap.max(initial=0.0))


def apart(x, y):
    """Whether two outcomes differ in the output, by more than is accepted."""
    x, y = mine(x[3]), mine(y[3])
    if x.keys() != y.keys() or any(x[k].shape != y[k].shape for k in x):
        return True
    for k in x:
        print(f"  {k}: largest difference {distance(x[k], y[k]):.6g}, accepted {BOUND:.6g}")
    return any(DIFFERS for k in x)
'''


def _values(what: str, test: str, differs: str | None = None) -> str:
    text = _VALUES.format(what=what, test=test)
    return text if differs is None else f"{text.strip()}\n\n\n{_NUMBERS.replace('DIFFERS', differs).strip()}\n"


_APART = "all(apart(blamed, w) for w in witnesses) and not any(apart(witnesses[0], w) for w in witnesses[1:])"
_CHECKS: Mapping[Symptom, str] = {
    Symptom.CRASH: _RUNS.format(what="The blamed target takes its process down.", test='blamed[0] in ("dies", "ends")'),
    Symptom.PROTOCOL: _RUNS.format(what="The blamed target gives no usable answer.", test='blamed[0] in ("dies", "ends")'),
    Symptom.HANG: _RUNS.format(what="The blamed target does not come back.", test='blamed[0] == "hangs"'),
    Symptom.MEMORY: _RUNS.format(what="The blamed target runs out of memory.", test='blamed[0] in ("memory", "dies")'),
    Symptom.REJECTION: _RUNS.format(
        what="The blamed target refuses what a witness runs.",
        test='blamed[0] == "raises" and any(w[0] == "answers" for w in witnesses)',
    ),
    Symptom.WRONG_DTYPE: _values(
        "The output's type is another than the witnesses'.",
        "all(blamed[2].get(OUTPUT) != w[2].get(OUTPUT) for w in witnesses)",
    ),
    Symptom.WRONG_SHAPE: _values(
        "The output's shape is another than the witnesses'.",
        "all(blamed[2].get(OUTPUT) != w[2].get(OUTPUT) for w in witnesses)",
    ),
    Symptom.NAN_INF: _values(
        "NaN or infinity stands where the witnesses have something else.",
        _APART,
        "bool(np.any(special(x[k]) != special(y[k])))",
    ),
    Symptom.DIFFERENCE: _values(
        "The output is farther from each witness than is accepted, and they agree.",
        _APART,
        "distance(x[k], y[k]) > BOUND",
    ),
}

_MAIN = '''
def main():
    found = {name: outcome(name) for name in TARGETS}
    for name, (word, detail, kinds, arrays) in found.items():
        print(f"{name:24} {word} {detail}")
        for key in sorted(arrays):
            if key == OUTPUT or not OUTPUT:
                values = " ".join(str(v) for v in arrays[key].ravel()[:8])
                print(f"{'':24} {key}: {kinds.get(key, '')} {values}{' ...' if arrays[key].size > 8 else ''}")
    fault = shows(found[BLAMED], [found[name] for name in WITNESSES])
    print("the fault shows" if fault else "the fault does not show")
    return 1 if fault else 0


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "--run":
        child(sys.argv[2], sys.argv[3])
        sys.stdout.flush()
        os._exit(0)
    sys.exit(main())
'''
