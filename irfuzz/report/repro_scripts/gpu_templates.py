"""What the runners of a ``repro.py`` need besides to compute on a GPU, with the arithmetic that its target declares."""

from __future__ import annotations

from collections.abc import Mapping

_TORCH = """def run_torch(inputs, mode="eager", device="cpu", tf32=False):"""

_TORCH_SETTINGS = """    torch.set_num_threads(1)
    if device != "cpu" and not torch.cuda.is_available():
        raise ImportError("torch finds no GPU here")
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.set_default_device(device)
"""

_TORCH_MOVED = """
    def there(value):
        if isinstance(value, dict):
            return {name: there(item) for name, item in value.items()}
        if isinstance(value, list):
            return [there(item) for item in value]
        return value if value is None else value.to(device)

    weights, given = there(weights), there(given)
    names = []
"""

_JAX_IMPORT = """    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax
"""

_JAX_SETTINGS = """    os.environ.setdefault("JAX_PLATFORMS", "cuda,cpu")
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax

    try:
        jax.config.update("jax_default_device", jax.devices(device)[0])
    except RuntimeError as error:
        raise ImportError(f"jax finds no GPU here: {error}") from error
    jax.config.update("jax_default_matmul_precision", "tensorfloat32" if tf32 else "highest")
"""

_TENSORFLOW = '''def run_tensorflow(inputs, mode="eager", device="cpu", tf32=False):
    """The model on a device of TensorFlow's."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    if device != "cpu" and not tf.config.list_physical_devices("GPU"):
        raise ImportError("tensorflow finds no GPU here")
    tf.config.experimental.enable_tensor_float_32_execution(tf32)
    with tf.device("CPU:0" if device == "cpu" else "GPU:0"):
        return run_tensorflow_there(inputs, mode)


def run_tensorflow_there(inputs, mode):'''

_ORT_IMPORT = """    os.environ["NVIDIA_TF32_OVERRIDE"] = str(int(tf32))
    import onnxruntime as ort

    if hasattr(ort, "preload_dlls"):
        ort.preload_dlls()  # CUDA's libraries, from where other packages have them
    if provider not in ort.get_available_providers():
        raise ImportError(f"this build of onnxruntime has no {provider}")
"""

_ORT_STARTED = """    if session.get_providers()[0] != provider:
        raise ImportError(f"{provider} does not start here")
"""

EDITS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "onnxruntime": (
        ("level, provider=CPU,", "level, provider=CPU, tf32=False,"),
        ("    import onnxruntime as ort\n\n    print", f"{_ORT_IMPORT}    print"),
        ("=[*off])\n", f"=[*off])\n{_ORT_STARTED}"),
    ),
    "torch": (
        ('def run_torch(inputs, mode="eager"):', _TORCH),
        ("    torch.set_num_threads(1)\n", _TORCH_SETTINGS),
        ("    names = []\n", _TORCH_MOVED),
    ),
    "jax": (
        ('def run_jax(inputs, mode="eager"):', 'def run_jax(inputs, mode="eager", device="cpu", tf32=False):'),
        (_JAX_IMPORT, _JAX_SETTINGS),
    ),
    "tensorflow": (('def run_tensorflow(inputs, mode="eager"):', _TENSORFLOW),),
}
"""By component: what of its runner is replaced, and by what. Each text is there once."""


def on_gpu(component: str, runner: str) -> str:
    """A runner that takes the options ``device`` (or ``provider``) and ``tf32``.

    Args:
        component: with which it computes; the runners of those that ``EDITS`` lacks stay as they are.
        runner: its source.
    """
    for before, after in EDITS.get(component, ()):
        runner = runner.replace(before, after)
    return runner
