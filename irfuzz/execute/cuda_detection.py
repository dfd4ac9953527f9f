"""Whether this machine has an NVIDIA GPU, and whether an installed framework can use it.

Nothing is imported and no driver is called: device files and the versions of distributions decide. They cannot decide
everything (a driver that is too old, a library that is not found), so the worker asks the framework itself before a
target counts as usable.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from irfuzz.environment_check import installed_version

Versions = Callable[[str], str | None]
"""The version of an installed distribution, by its name; ``None`` for one that is not installed."""

_NUMBERED = re.compile(r"nvidia\d+")
_OF_MACHINE = (f"/lib/{platform.machine()}-linux-gnu", f"/usr/lib/{platform.machine()}-linux-gnu")
_OTHER_BUILDS = ("cpu", "rocm", "xpu")
"""How the local label of a version of PyTorch begins (``2.13.0+cpu``) if the build has no CUDA."""


def why_no_gpu(
    devices: Path = Path("/dev"),
    driver: Path = Path("/proc/driver/nvidia/gpus"),
    environ: Mapping[str, str] = MappingProxyType(os.environ),
) -> str:
    """Why no worker would find an NVIDIA GPU; one line, empty if one is there.

    Args:
        devices: folder of the device files.
        driver: folder in which the kernel's driver lists GPUs.
        environ: environment variables, of which ``CUDA_VISIBLE_DEVICES`` may hide every GPU.
    """
    if environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0].strip() in ("", "-1"):
        return "CUDA_VISIBLE_DEVICES hides every GPU"
    names = {path.name for path in _inside(devices)}
    if "dxg" in names or any(_NUMBERED.fullmatch(name) for name in names):  # dxg: Windows' GPU under WSL
        return ""
    if any(_inside(driver)):
        return f"there is a driver, but no {devices}/nvidia0; run nvidia-modprobe once, or give the container the GPU"
    return f"no NVIDIA GPU here (no {devices}/nvidia0)"


def _inside(folder: Path) -> Iterable[Path]:
    return folder.iterdir() if folder.is_dir() else ()


def why_no_cuda(component: str, versions: Versions = installed_version) -> str:
    """Why an installed framework cannot compute on a GPU, and what to install; one line, empty if nothing says so.

    Args:
        component: one of ``BUILDS``; nothing is known against others.
        versions: what is installed.
    """
    return BUILDS[component](versions) if component in BUILDS else ""


def _onnxruntime(versions: Versions) -> str:
    return "" if versions("onnxruntime-gpu") else "needs onnxruntime-gpu instead of onnxruntime"


def _torch(versions: Versions) -> str:
    version = versions("torch") or ""
    if not version.partition("+")[2].startswith(_OTHER_BUILDS):
        return ""  # +cu128, a build of one's own, or PyPI's, which has CUDA on Linux
    return f"torch {version} has no CUDA; https://pytorch.org/get-started/locally has builds that do"


def _jax(versions: Versions) -> str:
    if any(versions(f"jax-cuda{major}-plugin") for major in (12, 13)):
        return ""
    return f"jax {versions('jax') or ''} has no CUDA plug-in; pip install 'jax[cuda12]', or 'jax[cuda13]'"


def _tensorflow(versions: Versions) -> str:
    if versions("tensorflow"):
        return ""
    own = versions("tensorflow-cpu")
    return f"tensorflow-cpu {own} has no CUDA; pip install 'tensorflow[and-cuda]' instead" if own else ""


BUILDS: Mapping[str, Callable[[Versions], str]] = {
    "onnxruntime": _onnxruntime,
    "torch": _torch,
    "jax": _jax,
    "tensorflow": _tensorflow,
}
"""By component: what its distributions say against CUDA."""


PROVIDER = "libonnxruntime_providers_tensorrt.so"
"""In the folder ``capi`` of onnxruntime; it names the library of TensorRT that it was built for."""

_TENSORRT = re.compile(rb"libnvinfer\.so(\.\d+)?")
_LOADER = tuple(map(Path, ("/lib64", "/usr/lib64", "/lib", "/usr/lib", *_OF_MACHINE)))


def why_no_tensorrt(
    onnxruntime: Path,
    environ: Mapping[str, str] = MappingProxyType(os.environ),
    cache: Path = Path("/etc/ld.so.cache"),
    folders: Iterable[Path] = _LOADER,
) -> str:
    """Why onnxruntime's TensorRT provider could not be loaded; one line, empty if nothing says so.

    Args:
        onnxruntime: folder of the package. One without that provider is left to the worker, which says so.
        environ: environment variables, of which ``LD_LIBRARY_PATH`` says where the loader looks first.
        cache: which libraries the loader knows.
        folders: where it looks at the end.
    """
    provider = onnxruntime / "capi" / PROVIDER
    if not provider.is_file():
        return ""
    built_for = _TENSORRT.search(provider.read_bytes())
    library = built_for[0].decode() if built_for else "libnvinfer.so"
    listed = [Path(folder) for folder in environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if folder]
    if any((folder / library).exists() for folder in (*listed, provider.parent, *folders)):
        return ""
    if cache.is_file() and library.encode() + b"\0" in cache.read_bytes():
        return ""
    return (
        f"{library} of TensorRT is not where the loader looks; pip install tensorrt-cu12 or tensorrt-cu13, and name "
        "its folder tensorrt_libs in LD_LIBRARY_PATH"
    )


def reasons(*found: str) -> str:
    """Several reasons as one line.

    Args:
        found: reasons, empty ones among them.
    """
    return ", and ".join(filter(None, found))
