"""The variants of components that compute on an NVIDIA GPU, with what is declared of their arithmetic.

Each has a worker of its own, whose process imports the component only after the fork (``workers/gpu_worker.py``), so
that an error after which CUDA fails whatever follows costs no other variant its results. TF32 and sums in half
precision are switched off: float32 is then computed in float32, whose roundings the oracles know. docs/gpu.md says the
rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from irfuzz.execute.adapters.adapter import GPU_ARITHMETIC, GPU_HANDLER, ModelAdapter
from irfuzz.execute.adapters.generated_source import JAX, TENSORFLOW, TORCH, SourceAdapter

DEVICE = "cuda"

HIDING = frozenset({"CUDA_VISIBLE_DEVICES", "JAX_PLATFORMS"})
"""Environment variables by which other workers have no GPU."""

ENVIRONMENT: Mapping[str, str] = {"NVIDIA_TF32_OVERRIDE": "0"}
"""Of every worker here: NVIDIA's libraries use no TF32, whatever asks for it. TensorRT has no other switch."""


INSTALLED_BY: Mapping[str, str] = {
    "jax": "pip install 'jax[cuda12]', or 'jax[cuda13]'",
    "tensorflow": "pip install 'tensorflow[and-cuda]'",
}
"""What brings a framework with CUDA's libraries, if that is not the package by itself."""


def _environment(component: str, env: Mapping[str, str], **more: str) -> dict[str, str]:
    shown = {name: value for name, value in env.items() if name not in HIDING}
    return {**shown, **ENVIRONMENT, "IRFUZZ_GPU_WORKER": component, **more}


def source_on_gpu(adapter: SourceAdapter, *modes: str, **env: str) -> SourceAdapter:
    """A framework that runs generated source, on a GPU.

    Args:
        adapter: of the framework, on the processor.
        modes: those that are offered there.
        env: of the worker, beside what all have.
    """
    return replace(
        adapter,
        device=DEVICE,
        modes=modes,
        preload=(),
        env=_environment(adapter.component, adapter.env, **env),
        advice=INSTALLED_BY.get(adapter.component, ""),
    )


def model_on_gpu(adapter: ModelAdapter, variants: Mapping[str, Mapping[str, str]]) -> ModelAdapter:
    """A component that takes ONNX, on a GPU.

    Args:
        adapter: of the component, on the processor.
        variants: options by the target's name after the colon, which ends with ``@`` and the device.
    """
    return replace(
        adapter,
        handler=GPU_HANDLER,
        variants={name: {**options, **GPU_ARITHMETIC} for name, options in variants.items()},
        preload=(),
        env=_environment(adapter.component, adapter.env),
    )


_TENSORFLOW = replace(TENSORFLOW, distributions=("tensorflow",))  # tensorflow-cpu has no CUDA

GPU_SOURCE = (
    source_on_gpu(TORCH, "eager"),
    replace(source_on_gpu(TORCH, "compile"), slow=True, kernels={"compile": "inductor"}),
    source_on_gpu(JAX, "eager", "jit", JAX_PLATFORMS="cuda,cpu", XLA_PYTHON_CLIENT_PREALLOCATE="false"),
    source_on_gpu(_TENSORFLOW, "eager", TF_FORCE_GPU_ALLOW_GROWTH="true"),
    replace(source_on_gpu(_TENSORFLOW, "xla", TF_FORCE_GPU_ALLOW_GROWTH="true"), slow=True, kernels={"xla": "xla"}),
)
"""The frameworks that run irfuzz's own lowerings, on a GPU."""
