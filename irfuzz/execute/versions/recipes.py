"""What ``irfuzz env add`` installs for one word: the packages of a target that needs more than its own, with sizes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Recipe:
    """An environment that was built and run.

    Attributes:
        requirement: the component, in an exact version.
        beside: what pip gets beside it.
        alone: what pip gets without what its metadata asks for, because no program of it needs that.
        download: megabytes of wheels, numpy and onnx included.
        disk: megabytes of the environment.
        about: what it brings.
        wants: what has to be there besides, which no package brings; empty if nothing.
        driver: it gets a Vulkan driver that needs no GPU, by npm.
    """

    requirement: str
    download: int
    disk: int
    about: str
    beside: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    wants: str = ""
    driver: bool = False


RECIPES = {
    "ncnn": Recipe(
        "ncnn==1.0.20261020", 78, 265, "ncnn, and pnnx, which converts for it; without PyTorch, which pnnx "
        "names and does not need", alone=("pnnx==20261020",),
    ),
    "openvino-provider": Recipe("onnxruntime-openvino==1.24.1", 128, 476, "onnxruntime with OpenVINO 2025.4.1"),
    "tinygrad": Recipe("tinygrad==0.14.0", 40, 174, "tinygrad", wants="clang"),
    "tvm": Recipe("apache-tvm==0.27.0.post1", 140, 451, "TVM with its LLVM, and its interface of functions"),
    "webgpu": Recipe(
        "onnxruntime-webgpu==1.27.0", 134, 214, "onnxruntime with its WebGPU provider, and SwiftShader, a Vulkan "
        "driver that needs no GPU", driver=True,
    ),
}  # fmt: skip
"""By the word; each as it was last tried."""


def word_for(distribution: str) -> str:
    """The word whose recipe brings a distribution; empty if there is none.

    Args:
        distribution: as packages are named, such as ``apache-tvm``.
    """
    return next((word for word, recipe in RECIPES.items() if recipe.requirement.startswith(f"{distribution}==")), "")
