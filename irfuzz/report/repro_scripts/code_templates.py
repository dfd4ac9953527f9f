"""The parts that every ``repro.py`` is put together from, as text; names in capitals are filled in."""

from __future__ import annotations

from collections.abc import Mapping

IMPORTS = """
try:
    import numpy as np
except ImportError as error:
    print(error)
    sys.exit(2)

HERE = Path(__file__).resolve().parent
"""

PLAIN_INPUTS = """
def load_inputs():
    arrays = np.load(HERE / "inputs.npz")
    return {name: arrays[name + ".npy"] for name in arrays.files if name != "__irfuzz__"}
"""

ODD_INPUTS = '''
def load_inputs():
    """Inputs by name; strings, sequences and types that numpy lacks are described by a manifest in the file."""
    arrays = np.load(HERE / "inputs.npz")

    def value(entry):
        if entry is None:
            return None
        if "items" in entry:
            return [value(item) for item in entry["items"]]
        if "strings" in entry:
            return np.array(entry["strings"], dtype=object).reshape(entry["shape"])
        array = arrays[entry["array"] + ".npy"]
        if array.dtype.name == entry["dtype"]:
            return array
        import ml_dtypes

        return array.view(getattr(ml_dtypes, entry["dtype"]))

    manifest = json.loads(str(arrays["__irfuzz__"]))
    return {name: value(entry) for name, entry in manifest["values"].items()}
'''

REFERENCE = """
def run_reference(inputs):
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator((HERE / "model.onnx").read_bytes())
    return dict(zip(evaluator.output_names, evaluator.run(None, inputs)))
"""

SETTINGS = """    for key, value in settings.items():
        options.add_session_config_entry(key, str(value))
"""

OFF = ", disabled_optimizers=[*off])"

_SESSION = f"""
def run_onnxruntime(inputs, level, provider=CPU, off=(), **settings):
    import onnxruntime as ort

    print("onnxruntime", ort.__version__, level)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
{SETTINGS}    session = ort.InferenceSession((HERE / "model.onnx").read_bytes(), options, providers=[provider]{OFF}
"""

ONNXRUNTIME = (
    _SESSION
    + """    return dict(zip([o.name for o in session.get_outputs()], session.run(None, inputs)))
"""
)

ODD_ONNXRUNTIME = (
    _SESSION
    + '''    values = session.run_with_ort_values(None, {name: to_ort(value) for name, value in inputs.items()})
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
'''
)

TORCH = '''
def run_torch(inputs):
    """The model as PyTorch source, in the file beside this one."""
    import torch

    print("torch", torch.__version__)
    torch.set_num_threads(1)
    sys.path.insert(0, str(HERE))
    import torch_model

    weights = np.load(HERE / "torch_weights.npz")
    return torch_model.run({name: weights[name + ".npy"] for name in weights.files}, inputs)
'''

MODED_TORCH = '''
def run_torch(inputs, mode="eager"):
    """The model as PyTorch source, in the file beside this one, as ``torch.compile`` and the like make it."""
    import torch

    print("torch", torch.__version__, mode)
    torch.set_num_threads(1)
    sys.path.insert(0, str(HERE))
    import torch_model

    stored = np.load(HERE / "torch_weights.npz")
    weights, given = torch_model.tensors({name: stored[name + ".npy"] for name in stored.files}, inputs)
    names = []

    class Model(torch.nn.Module):
        def forward(self, given):
            outputs = torch_model.forward(weights, given)
            names[:] = list(outputs)
            return tuple(outputs.values())

    with torch.no_grad():
        if mode == "compile":
            outputs = torch.compile(torch_model.forward)(weights, given)
        elif mode == "eager":
            outputs = torch_model.forward(weights, given)
        else:
            if mode == "export":
                traced = torch.export.export(Model(), (given,), strict=False).module()
            else:
                traced = torch.jit.trace(Model(), (given,), check_trace=False)
                traced(given)  # it is optimised only once it has run
            outputs = dict(zip(names, traced(given)))
    return {name: torch_model.to_array(value) for name, value in outputs.items()}
'''

NUMPY = '''
def run_numpy(inputs):
    """The model as NumPy source, in the file beside this one."""
    print("numpy", np.__version__)
    sys.path.insert(0, str(HERE))
    import numpy_model

    weights = np.load(HERE / "numpy_weights.npz")
    return numpy_model.run({name: weights[name + ".npy"] for name in weights.files}, inputs)
'''

JAX = '''
def run_jax(inputs, mode="eager"):
    """The model as JAX source, in the file beside this one."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax

    print("jax", jax.__version__, mode)
    sys.path.insert(0, str(HERE))
    import jax_model

    stored = np.load(HERE / "jax_weights.npz")
    weights, given = jax_model.tensors({name: stored[name + ".npy"] for name in stored.files}, inputs)
    if mode == "jit":
        lone, vector = lambda x: x.size == 1, lambda x: x.size == 1 or x.ndim < 2 and x.dtype.kind in "iub"
        for known in (lambda x: False, lone, vector, lambda x: x.ndim < 2):  # it has to know what says sizes
            sizes = {n: np.asarray(x) for n, x in given.items() if isinstance(x, jax.Array) and known(x)}
            rest = {name: value for name, value in given.items() if name not in sizes}
            try:
                outputs = jax.jit(lambda rest: jax_model.forward(weights, {**sizes, **rest}))(rest)
                break
            except (jax.errors.JAXTypeError, jax.errors.JAXIndexError):
                outputs = {}
    else:
        outputs = jax_model.forward(weights, given)
    return {name: jax_model.to_array(value) for name, value in outputs.items()}
'''

TENSORFLOW = '''
def run_tensorflow(inputs, mode="eager"):
    """The model as TensorFlow source, in the file beside this one."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    print("tensorflow", tf.__version__, mode)
    sys.path.insert(0, str(HERE))
    import tensorflow_model

    stored = np.load(HERE / "tensorflow_weights.npz")
    weights, given = tensorflow_model.tensors({name: stored[name + ".npy"] for name in stored.files}, inputs)
    forward = tensorflow_model.forward
    if mode != "eager":
        compiled = tf.function(lambda given: forward(weights, given), jit_compile=mode == "xla", autograph=True)
        outputs = compiled(given)
    else:
        outputs = forward(weights, given)
    return {name: tensorflow_model.to_array(value) for name, value in outputs.items()}
'''

KERAS = '''
def run_keras(inputs, mode="tensorflow"):
    """The model as Keras source, in the file beside this one, on one back end, of which a process has only one."""
    import subprocess
    import tempfile

    code = (
        "import sys, numpy as np; sys.path.insert(0, sys.argv[1]); import keras, keras_model;"
        "print('keras', keras.__version__, sys.argv[2]); load = lambda f: dict(np.load(f));"
        "stored = load(sys.argv[1] + '/keras_weights.npz');"
        "weights = {n[:-4] if n.endswith('.npy') else n: v for n, v in stored.items()};"
        "np.savez(sys.argv[4], **keras_model.run(weights, load(sys.argv[3])))"
    )
    with tempfile.TemporaryDirectory() as folder:
        given, found = os.path.join(folder, "given.npz"), os.path.join(folder, "found.npz")
        np.savez(given, **inputs)
        env = {**os.environ, "KERAS_BACKEND": mode, "TF_CPP_MIN_LOG_LEVEL": "3", "JAX_ENABLE_X64": "1"}
        command = [sys.executable, "-c", code, str(HERE), mode, given, found]
        done = subprocess.run(command, env=env, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise RuntimeError((done.stderr.strip() or f"it ended with {done.returncode}").splitlines()[-1])
        return dict(np.load(found))
'''

OPENVINO = '''
def run_openvino(inputs):
    """OpenVINO on the processor, in float32, which is not its default on every one."""
    import openvino

    print("openvino", openvino.__version__)
    core = openvino.Core()
    model = core.compile_model(core.read_model(HERE / "model.onnx"), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    ports = [port.get_names() & inputs.keys() for port in model.inputs]
    found = model({name: inputs[name] for port in ports for name in port} if all(ports) else inputs)
    return {name: np.array(found[port]) for name, port in zip(OUTPUT_NAMES, model.outputs)}
'''

FROM_HERE = "sys.path.insert(0, os.getcwd())"
"""Line of scripts that look for a class of the user's in the current folder."""

PLUGIN = '''
def run_plugin(inputs, **options):
    """A class of the user's, found from the current folder, else in the copy beside this script."""
    import importlib.util

    place, _, name = options["class"].rpartition(":")
    FROM_HERE
    sys.path.append(str(HERE / "plugin"))
    if place.endswith(".py"):
        found = [file for file in (os.path.join(folder, place) for folder in sys.path) if os.path.exists(file)]
        if not found:
            raise ImportError(f"{place} is not found from {os.getcwd()}")
        found.sort(key=lambda file: name not in Path(file).read_text(errors="replace"))  # others have its name, too
        spec = importlib.util.spec_from_file_location(os.path.basename(place)[:-3], found[0])
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(place)
    return getattr(module, name)().run((HERE / "model.onnx").read_bytes(), inputs)
'''.replace("FROM_HERE", FROM_HERE)

KEPT_PLUGIN = (
    PLUGIN.replace("def run_plugin(inputs, **options):", "@functools.cache\ndef load_plugin(named):")
    .replace('options["class"]', "named")
    .replace('.run((HERE / "model.onnx").read_bytes(), inputs)', "")
    + '''

def run_plugin(inputs, **options):
    """One object serves all runs, as in a process that lives on."""
    return load_plugin(options["class"]).run((HERE / "model.onnx").read_bytes(), inputs)
'''
)

RUNNERS: Mapping[str, str] = {
    "reference": REFERENCE,
    "onnxruntime": ONNXRUNTIME,
    "torch": TORCH,
    "numpy": NUMPY,
    "jax": JAX,
    "tensorflow": TENSORFLOW,
    "keras": KERAS,
    "openvino": OPENVINO,
    "plugin": PLUGIN,
}
"""By component."""

ELEMENT = '''
def look(outputs):
    """The element that is wrong."""
    return LOOKUP


def differ(a, b):
    return DIFFERS
'''

WHOLE = """
def look(outputs):
    return np.asarray(outputs[OUTPUT])


def differ(a, b):
    return a.shape != b.shape or bool(np.any(DIFFERS))
"""

KIND = '''
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
'''

SPECIAL = '''
def special(x):
    """Which NaN or infinity a number is, if any."""
    return "finite" if np.isfinite(float(x)) else str(float(x))
'''

SPECIALS = '''
def special(x):
    """For each element 0 where finite, 1 for NaN, 2 and 3 for the infinities."""
    x = x.astype(float)
    return np.isnan(x) + 2 * np.isposinf(x) + 3 * np.isneginf(x)
'''

MAIN_VALUES = """
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
        print(f"{name}: {WHAT} {seen[name]}")
    wrong, *others = seen.values()
    if not others:
        print("nothing is left to compare with")
        return 2
    agree = not any(differ(others[0], other) for other in others[1:])
    return verdict(agree and all(differ(wrong, other) for other in others))
"""

ALONE = """
def main():
    run, options = TARGETS[BLAMED]
    value = np.asarray(run(load_inputs(), **options)[OUTPUT])
    print(f"{BLAMED}: {OUTPUT!r} is {value}")
    return verdict(bool(np.isnan(value.astype(float)).any()))
"""

STAND_INS: Mapping[str, str] = {
    "    wrong, *others = seen.values()": """    for name, answer in RECORDED.items():
        if name not in seen:
            seen[name] = answer
            print(f"{name}: {OUTPUT!r} was {answer} when this was found")
""",
    "    blamed, *others = told.values()": """    for name in RECORDED:
        if name not in told:
            told[name] = "answers"
            print(f"{name}: answered when this was found")
""",
    "    mine, *others = told.values()": """    for name in RECORDED:
        if name not in told:
            told[name] = "refused"
            print(f"{name}: refused when this was found")
""",
    "    blamed, *others = ends.values()": """    for name in RECORDED:
        if ends.get(name, "misses").startswith("misses"):
            ends[name] = "answers"
            print(f"{name}: answered when this was found")
""",
}
"""What goes before such a line of a script where some of its targets have recorded answers."""

MENDED = """    print(f"{BLAMED} without {', '.join(MENDED['off'])}: {look(run_onnxruntime(load_inputs(), **MENDED))}")
"""
"""Before the line that decides."""

MAIN_REJECTION = """
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
"""

MAIN_LENIENCY = """
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
    mine, *others = told.values()
    if mine == "answers" and not others:
        print("who refused it is missing here")
        return 2
    return verdict(mine == "answers" and "answers" not in others)
"""

CHILD = '''
def child(name, told):
    """Run one target here, and leave word of how that ended."""
    run, options = TARGETS[name]
    try:
        ANSWER
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
    lacking = "answers" not in others and any(other.startswith("misses") for other in others)
    if blamed.startswith("misses") or (lacking and blamed != "answers"):
        return 2
    return verdict(SHOWN)
'''

ANSWERS = """
        run(load_inputs(), **options)
        text = "answers"
"""

ANSWERS_USABLY = """
        outputs = run(load_inputs(), **options)
        text = "answers" if usable(outputs) else "gives no usable answer"
"""

BEFORE = """
        for _ in range(RUNS - 1):
            run(load_inputs(), **options)
"""

RUN = "run(load_inputs(), **options)"

USABLE = '''
def usable(outputs):
    """Whether there is an array, or a list of them, for every output."""
    if not isinstance(outputs, dict) or not set(OUTPUTS) <= set(outputs) or len(outputs) > 10_000:
        return False
    return all(v is None or isinstance(v, (list, int, float)) or hasattr(v, "__array__") for v in outputs.values())
'''

LIMIT = '''
def limit_memory():
    """Refuse this process more memory than MEMORY bytes."""
    import resource

    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
'''

VERDICT = """
def verdict(shows):
    print("the fault shows" if shows else "the fault does not show")
    return int(shows)
"""

END = """
if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")CHILD_BRANCH
    try:
        code = main()
    except BaseException as error:  # neither shown nor disproved
        print(f"cannot tell: {type(error).__name__}: {error}")
        code = 2
    sys.exit(code)
"""

CHILD_BRANCH = """
    if len(sys.argv) == 3:LIMIT_CALL
        child(*sys.argv[1:])
        sys.stdout.flush()
        os._exit(0)"""
