"""Whether a GPU is there, and whether what is installed can use it, is told of device files and versions alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from irfuzz.execute.cuda_detection import PROVIDER, reasons, why_no_cuda, why_no_gpu, why_no_tensorrt

pytestmark = pytest.mark.unit

ELSEWHERE = "has no CUDA; https://pytorch.org/get-started/locally has builds that do"
INSTEAD = "has no CUDA; pip install 'tensorflow[and-cuda]' instead"


def gpu(tmp_path: Path, *names: str, driver: bool = False, **environ: str) -> str:
    devices, listing = tmp_path / "dev", tmp_path / "gpus"
    devices.mkdir()
    for name in names:
        (devices / name).touch()
    if driver:
        (listing / "0000:01:00.0").mkdir(parents=True)
    return why_no_gpu(devices, listing, environ).replace(str(tmp_path), "")


@pytest.mark.parametrize("names", [["nvidia0"], ["nvidia7", "nvidiactl"], ["dxg"]])
def test_a_gpu_is_there(names: list[str], tmp_path: Path) -> None:
    assert gpu(tmp_path, *names) == ""


@pytest.mark.parametrize("names", [[], ["null", "dri"], ["nvidiactl", "nvidia-uvm"], ["nvidia0x"], ["xnvidia0"]])
def test_none_is_there(names: list[str], tmp_path: Path) -> None:
    assert gpu(tmp_path, *names) == "no NVIDIA GPU here (no /dev/nvidia0)"


def test_a_driver_without_device_files(tmp_path: Path) -> None:
    assert gpu(tmp_path, driver=True) == (
        "there is a driver, but no /dev/nvidia0; run nvidia-modprobe once, or give the container the GPU"
    )


def test_no_folder_of_devices(tmp_path: Path) -> None:
    assert "no NVIDIA GPU here" in why_no_gpu(tmp_path / "nothing", tmp_path / "nor this", {})


@pytest.mark.parametrize(
    ("visible", "hidden"), [("", True), ("-1", True), ("-1,0", True), ("0", False), ("1,-1", False)]
)
def test_the_user_may_hide_it(visible: str, hidden: bool, tmp_path: Path) -> None:
    why = gpu(tmp_path, "nvidia0", CUDA_VISIBLE_DEVICES=visible)
    assert why == ("CUDA_VISIBLE_DEVICES hides every GPU" if hidden else "")


@pytest.mark.parametrize(
    ("component", "installed", "expected"),
    [
        ("onnxruntime", {"onnxruntime-gpu": "1.32.0"}, ""),
        ("onnxruntime", {"onnxruntime": "1.32.0"}, "needs onnxruntime-gpu instead of onnxruntime"),
        ("torch", {"torch": "2.13.0"}, ""),
        ("torch", {"torch": "2.13.0+cu128"}, ""),
        ("torch", {"torch": "2.9.0a0+git1234"}, ""),
        ("torch", {"torch": "2.13.0+cpu"}, f"torch 2.13.0+cpu {ELSEWHERE}"),
        ("torch", {"torch": "2.13.0+rocm6.4"}, f"torch 2.13.0+rocm6.4 {ELSEWHERE}"),
        ("jax", {"jax": "0.8", "jax-cuda12-plugin": "0.8"}, ""),
        ("jax", {"jax": "0.8", "jax-cuda13-plugin": "0.8"}, ""),
        ("jax", {"jax": "0.8"}, "jax 0.8 has no CUDA plug-in; pip install 'jax[cuda12]', or 'jax[cuda13]'"),
        ("tensorflow", {"tensorflow": "2.21"}, ""),
        ("tensorflow", {"tensorflow-cpu": "2.21", "tensorflow": "2.21"}, ""),
        ("tensorflow", {"tensorflow-cpu": "2.21"}, f"tensorflow-cpu 2.21 {INSTEAD}"),
        ("openvino", {}, ""),
    ],
)  # fmt: skip
def test_builds(component: str, installed: dict[str, str], expected: str) -> None:
    assert why_no_cuda(component, installed.get) == expected


def tensorrt(
    tmp_path: Path, *, built_for: bytes = b"\0libnvinfer.so.10\0", listed: str = "", cached: bytes = b""
) -> str:
    """What is said of a package of onnxruntime whose provider holds these bytes."""
    package, cache, usual = tmp_path / "onnxruntime", tmp_path / "ld.so.cache", tmp_path / "lib"
    (package / "capi").mkdir(parents=True, exist_ok=True)
    (package / "capi" / PROVIDER).write_bytes(b"ELF" + built_for)
    cache.write_bytes(cached)
    usual.mkdir(exist_ok=True)
    return why_no_tensorrt(package, {"LD_LIBRARY_PATH": listed}, cache, [usual])


LACKING = (
    "libnvinfer.so.10 of TensorRT is not where the loader looks; pip install tensorrt-cu12 or tensorrt-cu13, "
    "and name its folder tensorrt_libs in LD_LIBRARY_PATH"
)


def test_tensorrt_without_its_libraries(tmp_path: Path) -> None:
    assert tensorrt(tmp_path) == LACKING
    assert tensorrt(tmp_path, cached=b"ld.so-1.7.0\0libnvinfer.so.8\0libnvinfer.so.101\0") == LACKING
    (tmp_path / "lib" / "libnvinfer.so.8").touch()
    assert tensorrt(tmp_path, listed=f"{tmp_path}/none::{tmp_path}/lib") == LACKING
    assert tensorrt(tmp_path, built_for=b"").startswith("libnvinfer.so of TensorRT")


@pytest.mark.parametrize("place", ["lib", "onnxruntime/capi", "listed", "cache"])
def test_tensorrt_whose_libraries_are_found(tmp_path: Path, place: str) -> None:
    if place != "cache":
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
        (tmp_path / place / "libnvinfer.so.10").touch()
    cached = b"ld.so-1.7.0\0libnvinfer.so.10\0" if place == "cache" else b""
    assert tensorrt(tmp_path, listed=f"{tmp_path}/none:{tmp_path}/listed", cached=cached) == ""


def test_a_build_without_tensorrt_is_left_to_the_worker(tmp_path: Path) -> None:
    assert why_no_tensorrt(tmp_path, {}, tmp_path / "cache", []) == ""


def test_several_reasons_are_one_line() -> None:
    assert reasons("", "") == ""
    assert reasons("", "a") == "a"
    assert reasons("a", "", "b") == "a, and b"
