"""Who is right, who is blamed and how firmly, among targets grouped by what they answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from irfuzz.execute.run_types import Target

VARIANTS = ("", "disabled", "basic", "extended", "layout", "all", "eager", "script", "export", "compile")
"""From the plainest way to run a component to the most optimised one; others follow, by name."""

REFERENCE = "reference"
"""ONNX's own evaluator: breaks ties, and being interpreted, is no evidence of a hang."""


SHADOW = "shadow"
"""The component that stands for a program's shadow: its lowering with all floats in float64."""

LOWERED = frozenset({"torch", "tensorflow", "keras", "numpy", "jax", SHADOW})
"""Components that run what irfuzz writes."""

ARRAYS = frozenset({"numpy", "jax"})
"""Those that the array lowering serves, which has a reading of ONNX of its own."""

ONE_READING = LOWERED - ARRAYS
"""Those that the other reading of ONNX, of attributes, defaults and versions, serves."""

SAME_SOURCE = {
    "onnxruntime-node": "onnxruntime",
    "onnxruntime-web": "onnxruntime",
    "onnxruntime-openvino": "openvino",  # no node runs on onnxruntime's own kernels
}
"""Components that are other builds of one, by the name of that: what is wrong in its source is wrong in all of them."""


def shadow_target(framework: str) -> Target:
    """What stands for a shadow among targets; its witness is that of the framework that computes it.

    Args:
        framework: that computes the program in float64, such as ``numpy``.

    Returns:
        A target that no runner can run; it only takes part when witnesses are counted.
    """
    return Target(name=f"{SHADOW}:{framework}", component=SHADOW)


def flushes(target: Target) -> bool:
    """Whether it sets the processor to give zero for subnormal numbers: TensorFlow's and XLA's threads, compilers'
    fast maths.

    True for TensorFlow, JAX, Keras, OpenVINO (as onnxruntime's provider, too), ncnn and every target whose variant is
    ``compile``, on whatever device.
    """
    flushing = ("tensorflow", "jax", "keras", "openvino", "onnxruntime-openvino", "ncnn")
    return target.component in flushing or target.name.partition(":")[2].partition("@")[0] == "compile"


def rank(target: Target) -> tuple[str, bool, int, str]:
    """Key of the canonical order: components by name, within one the plainest variant first, accelerators last.

    Returns:
        A tuple for ``sorted(targets, key=rank)``; variants that ``VARIANTS`` does not list come behind those it lists.
    """
    variant = target.name.partition(":")[2].partition("@")[0]
    place = VARIANTS.index(variant) if variant in VARIANTS else len(VARIANTS)
    return target.component, target.device != "cpu", place, target.name


def components(targets: Sequence[Target]) -> set[str]:
    """The distinct components: targets of one component are one witness."""
    return {t.component for t in targets}


def witnesses_of(targets: Sequence[Target]) -> set[str]:
    """The independent ones of values: who shares a reading of ONNX is one, since a fault in it makes them agree."""
    return {_witness(t) for t in targets}


def _witness(target: Target) -> str:
    if target.name == f"{SHADOW}:numpy" or target.component in ARRAYS:
        return "numpy"
    return "lowered" if target.component in ONE_READING else SAME_SOURCE.get(target.component, target.component)


def checkers_of(targets: Sequence[Target]) -> set[str]:
    """The independent ones of shapes, and of what is allowed: all that irfuzz writes is one, for its plan of sizes is.

    None of it checks a call, either: it takes what irfuzz takes for valid.
    """
    return {"lowered" if c in LOWERED else SAME_SOURCE.get(c, c) for c in components(targets)}


_KERNELS = {"numpy": "reference", **SAME_SOURCE}
"""Components and back ends that compute with the functions of another one."""


def kernels_of(targets: Sequence[Target]) -> set[str]:
    """The distinct libraries of kernels: how these treat NaN has nothing to do with who reads ONNX for them.

    Args:
        targets: any; one of Keras counts for its back end, and components that share a library for one.
    """
    own = {t.kernels if t.component == "keras" else t.component for t in targets}  # Keras has those of its back end
    return {_KERNELS.get(name, name) for name in own}


def trusts_all(_program: object, _target: Target) -> str:
    """Nobody is known to be wrong."""
    return ""


@dataclass(frozen=True, slots=True)
class Blame:
    """One group of targets against the majority.

    Attributes:
        group: those who answered alike, the plainest first.
        firm: at least two independent witnesses contradict it, and nobody independent supports it.
    """

    group: tuple[Target, ...]
    firm: bool


@dataclass(frozen=True, slots=True)
class Division:
    """How the targets divide.

    Attributes:
        center: the group taken to be right (without two components in it, a mere convention).
        blamed: all others, in canonical order.
    """

    center: tuple[Target, ...]
    blamed: tuple[Blame, ...]


def divide(
    groups: Sequence[Sequence[Target]], independent: Callable[[Sequence[Target]], set[str]] = witnesses_of
) -> Division | None:
    """Who is right: the group with most witnesses; of equals the one with the reference, then the plainest targets.

    Args:
        groups: targets that agree with each other, in any order.
        independent: the witnesses among some targets.

    Returns:
        ``None`` if fewer than two groups leave nothing to decide.
    """
    ordered = [tuple(sorted(g, key=rank)) for g in groups if g]
    if len(ordered) < 2:
        return None
    ordered.sort(
        key=lambda g: (
            -len(independent(g)),
            -len(components(g)),
            not any(t.component == REFERENCE for t in g),
            [rank(t)[1:] for t in g],
        )
    )
    center = ordered[0]
    judges = independent(center)
    blamed = [
        # A group with two components has independent support of its own: who is right is then open.
        Blame(group, firm=len(judges) >= 2 and len({SAME_SOURCE.get(c, c) for c in components(group)}) == 1)
        for group in sorted(ordered[1:], key=lambda g: rank(g[0]))
    ]
    return Division(center, tuple(blamed))


def plainest(group: Sequence[Target]) -> list[tuple[Target, tuple[Target, ...]]]:
    """For each component of a group its plainest target, and the others that show the same.

    Args:
        group: targets that show one thing, in any order.

    Returns:
        Components by name; of each the first by ``rank``, and the rest in that order.
    """
    found: dict[str, list[Target]] = {}
    for target in sorted(group, key=rank):
        found.setdefault(target.component, []).append(target)
    return [(targets[0], tuple(targets[1:])) for targets in found.values()]
