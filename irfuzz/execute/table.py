"""Names as the user writes them enter, targets leave; packages are looked for and never imported."""

from __future__ import annotations

import fnmatch
import importlib.metadata
from collections.abc import Sequence
from dataclasses import dataclass

from irfuzz.environment import check_environment, installed_version
from irfuzz.errors import UsageError
from irfuzz.execute.adapter import SINGLE_THREAD, WORKERS, Adapter, ModelAdapter
from irfuzz.execute.plugin import NAME, PluginAdapter
from irfuzz.execute.torch import TorchAdapter
from irfuzz.execute.types import Target

GROUP = "irfuzz.targets"
"""Entry points of other distributions: name = ``package.module:Class``, run like a plug-in that the user names."""

LEVELS = ("disabled", "basic", "extended", "layout", "all")
"""ONNXRuntime 1.31's ``GraphOptimizationLevel`` (an older version lacks ``layout`` and says so when run)."""

REFERENCE = ModelAdapter(
    component="reference",
    handler=WORKERS / "reference.py",
    package="onnx",
    distributions=("onnx",),
    preload=("onnx", "onnx.reference", "onnx.reference.ops"),
)

ONNXRUNTIME = ModelAdapter(
    component="onnxruntime",
    handler=WORKERS / "onnxruntime.py",
    package="onnxruntime",
    distributions=("onnxruntime", "onnxruntime-gpu"),
    variants={
        **{level: {"level": level} for level in LEVELS},
        **{f"{level}@cuda": {"level": level, "provider": "CUDAExecutionProvider"} for level in ("disabled", "all")},
    },
    preload=("onnxruntime",),
    env={**SINGLE_THREAD, "ORT_DISABLE_TELEMETRY": "1"},
    packs=True,
)

BUILT_IN: tuple[Adapter, ...] = (REFERENCE, ONNXRUNTIME, TorchAdapter())
"""To add a component: its handler in ``workers/``, a line here (docs/targets.md)."""


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether a known target can be used here.

    Attributes:
        target: the target, with the version its package's metadata gives.
        why_not: empty where it can.
    """

    target: Target
    why_not: str


def table() -> dict[str, Adapter]:
    """Every known target name, ours and those of entry points, with the adapter that runs it.

    Raises:
        UsageError: two distributions claim one name.
    """
    known: dict[str, Adapter] = {target.name: adapter for adapter in BUILT_IN for target in adapter.targets}
    components = {adapter.component for adapter in BUILT_IN}
    for entry in sorted(importlib.metadata.entry_points(group=GROUP), key=lambda e: (e.name, e.value)):
        if entry.name in known or entry.name.partition(":")[0] in components:
            owner = entry.dist.name if entry.dist is not None else "a distribution"
            raise UsageError(
                f"target name {entry.name!r} of {owner} ({entry.value}) is taken; uninstall one of the two"
            )
        known[entry.name] = PluginAdapter(entry.name, entry.value)
    return known


def describe() -> tuple[Availability, ...]:
    """All known targets and, for those that cannot be used here, the reason."""
    found = []
    for adapter, target in _targets(table()):
        found.append(Availability(target, adapter.missing(target)))
    return tuple(found)


def resolve(names: Sequence[str] | None = None) -> tuple[Target, ...]:
    """The targets meant by ``names``, in their order, each once.

    Args:
        names: target names, patterns (``onnxruntime:*``, ``*@cuda``), a component for all of its variants, or plug-ins
            (``package.module:Class``, ``file.py:Class``). ``None``: everything that is installed, on the CPU.

    Raises:
        UsageError: a name is unknown, or what it names is not installed; or the environment is broken.
    """
    check_environment()
    known = table()
    all_targets = {target.name: (adapter, target) for adapter, target in _targets(known)}
    if names is None:
        return tuple(t for a, t in all_targets.values() if t.device == "cpu" and not a.missing(t))
    chosen: dict[str, Target] = {}
    for name in names:
        chosen.update({target.name: target for target in _matching(name, all_targets)})
    if not chosen:
        raise UsageError("no targets given")
    return tuple(chosen.values())


def adapter_of(target: Target) -> Adapter:
    """The adapter that runs ``target``.

    Raises:
        UsageError: the name is not known.
    """
    source = target.options.get("class")
    known = table().get(target.name)
    if known is not None:
        return known
    if isinstance(source, str):
        return PluginAdapter(target.name, source)
    raise UsageError(f"unknown target {target.name!r}")


def _matching(name: str, known: dict[str, tuple[Adapter, Target]]) -> list[Target]:
    if name in known:
        adapter, target = known[name]
        why = adapter.missing(target)
        if why:
            raise UsageError(f"target {name!r} cannot be used: {why}")
        return [target]
    pattern = name if any(c in name for c in "*?[") else f"{name}:*"
    # A pattern reaches another device than the CPU only where it says so.
    matches = [
        (a, t)
        for n, (a, t) in known.items()
        if fnmatch.fnmatchcase(n, pattern) and ("@" in pattern or t.device == "cpu")
    ]
    usable = [t for a, t in matches if not a.missing(t)]
    if usable:
        return usable
    if matches:
        adapter, target = matches[0]
        raise UsageError(f"target {name!r} cannot be used: {adapter.missing(target)}")
    if NAME.fullmatch(name) and name.partition(":")[0] not in {a.component for a, _ in known.values()}:
        return list(PluginAdapter(name, name).targets)
    raise UsageError(f"unknown target {name!r}; known: {', '.join(known)}, or package.module:Class of your own")


def _targets(known: dict[str, Adapter]) -> list[tuple[Adapter, Target]]:
    """Each name's target, with its version."""
    found = []
    for name, adapter in known.items():
        target = next(t for t in adapter.targets if t.name == name)
        version = next(
            (v for d in getattr(adapter, "distributions", ()) if (v := installed_version(d)) is not None), ""
        )
        found.append(
            (adapter, Target(target.name, target.component, version, target.interpreter, target.device, target.options))
        )
    return found
