"""Finds the targets that names mean; packages are looked for and never imported."""

from __future__ import annotations

import difflib
import fnmatch
import importlib.metadata
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from irfuzz.environment_check import check_environment, installed_version
from irfuzz.errors import UsageError
from irfuzz.execute.adapters.adapter import SINGLE_THREAD, WORKERS, Adapter, ModelAdapter
from irfuzz.execute.adapters.converter_tools import ToolAdapter
from irfuzz.execute.adapters.generated_source import JAX, KERAS, NUMPY, TENSORFLOW, TORCH, SourceAdapter
from irfuzz.execute.adapters.gpu_variants import GPU_SOURCE, model_on_gpu
from irfuzz.execute.adapters.plugin import NAME, PluginAdapter
from irfuzz.execute.adapters.tool_table import TOOL_ADAPTERS
from irfuzz.execute.cuda_detection import reasons, why_no_cuda, why_no_gpu, why_no_tensorrt
from irfuzz.execute.run_types import Stage, Target, TargetRole
from irfuzz.execute.versions import environments
from irfuzz.execute.versions.environments import Environment

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
    maps=True,
)

ONNXRUNTIME = ModelAdapter(
    component="onnxruntime",
    handler=WORKERS / "onnxruntime.py",
    package="onnxruntime",
    distributions=("onnxruntime", "onnxruntime-gpu"),
    variants={level: {"level": level} for level in LEVELS},
    preload=("onnxruntime",),
    env={**SINGLE_THREAD, "ORT_DISABLE_TELEMETRY": "1"},
    packs=True,
    maps=True,
    keeps=True,
    tells=True,
)

ONNXRUNTIME_ON_GPU = model_on_gpu(
    ONNXRUNTIME,
    {
        "disabled@cuda": {"level": "disabled", "provider": "CUDAExecutionProvider"},
        "all@cuda": {"level": "all", "provider": "CUDAExecutionProvider"},
        "all@tensorrt": {"level": "all", "provider": "TensorrtExecutionProvider"},
    },
)

COMPILERS = ("torch._dynamo", "torch._inductor.compile_fx", "torch.export")
"""What the slow modes of PyTorch import; without it each new process would take seconds to get ready."""

SOURCE = (
    TORCH,
    replace(
        TORCH, modes=("export", "compile"), slow=True, preload=(*TORCH.preload, *COMPILERS),
        kernels={"compile": "inductor"},
    ),
    NUMPY,
    JAX,
    TENSORFLOW,
    replace(TENSORFLOW, modes=("function", "xla"), slow=True, kernels={"xla": "xla"}),
    *KERAS,
)  # fmt: skip
"""The frameworks that run irfuzz's own lowerings; what compiles has a worker and kernels of its own."""

OPENVINO = ModelAdapter(
    component="openvino",
    handler=WORKERS / "openvino.py",
    package="openvino",
    distributions=("openvino",),
    preload=("openvino",),
    env={**SINGLE_THREAD, "OPENVINO_TELEMETRY": "0"},
    slow=True,
    tells_outputs=True,
)

IREE = ModelAdapter(
    component="iree",
    handler=WORKERS / "iree.py",
    package="iree",
    distributions=("iree-base-compiler",),
    preload=("onnx", "iree.compiler.api", "iree.compiler.extras.onnx_importer", "iree.runtime"),
    slow=True,
    tells_outputs=True,
)

BUILT_IN: tuple[Adapter, ...] = (
    REFERENCE, ONNXRUNTIME, ONNXRUNTIME_ON_GPU, *SOURCE, *GPU_SOURCE, OPENVINO, IREE, *TOOL_ADAPTERS,
)  # fmt: skip
"""To add a component: its handler in ``workers/``, a line here (docs/targets.md)."""

STAGES: Mapping[str, tuple[Stage, ...]] = {
    "reference": (Stage.IMPORT, Stage.COMPILE, Stage.RUN),
    "onnxruntime": (Stage.COMPILE, Stage.RUN),
    "openvino": (Stage.IMPORT, Stage.COMPILE, Stage.RUN),
    "iree": (Stage.IMPORT, Stage.COMPILE, Stage.RUN),
    "eager": (Stage.CONVERT, Stage.COMPILE, Stage.RUN),
    "compile": (Stage.IMPORT, Stage.CONVERT, Stage.COMPILE, Stage.RUN),
    "xla": (Stage.IMPORT, Stage.CONVERT, Stage.COMPILE, Stage.RUN),
    "jax:jit": (Stage.IMPORT, Stage.CONVERT, Stage.COMPILE, Stage.RUN),
}
"""What a target goes through, by component, mode of a lowering, or both; others import, convert and run."""

ALIASES: Mapping[str, str] = {"ort": "onnxruntime"}
"""Short names of components, for the command line."""


GROUPS: Mapping[str, tuple[TargetRole, ...]] = {
    "runtimes": (TargetRole.RUNTIME,),
    "converters": (TargetRole.CONVERTER,),
    "tools": (TargetRole.TOOL,),
    "all": tuple(TargetRole),
}
"""Names for everything installed of some roles, on the CPU, for the command line."""


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether a known target can be used here.

    Attributes:
        target: the target, with the version its package's metadata gives.
        why_not: empty if it can.
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
    """All known targets, those of other versions last, and for those that cannot be used here the reason."""
    own = [Availability(target, adapter.missing(target)) for adapter, target in _targets(table())]
    return (*own, *(a for e in environments.installed() for a in _of(e)))


def resolve(names: Sequence[str] | None = None, *, slow: bool = False, witness: bool = False) -> tuple[Target, ...]:
    """The targets meant by ``names``, in their order, each once.

    Args:
        names: target names, patterns (``onnxruntime:*``, ``*@cuda``), a component for all of its variants, each with
            ``@`` and a version or an environment's name behind the component (``ort@1.29.0:all``), or plug-ins
            (``package.module:Class``, ``file.py:Class``), or a group (``GROUPS``). Without a version that of irfuzz's
            own environment is meant. ``None``: all runtimes that are installed there, on the CPU.
        slow: ``None`` means the slow ones as well.
        witness: ``None`` means NumPy beside PyTorch as well, for who runs it on few programs only.

    Raises:
        UsageError: a name is unknown, or what it names is not installed; or the environment is broken.
    """
    check_environment()
    known = table()
    all_targets = {target.name: (adapter, target) for adapter, target in _targets(known)}
    if names is None:
        usual = [t for t in _of_role(all_targets, TargetRole.RUNTIME) if (slow or not t.slow) and not t.only_named]
        # NumPy stands in for PyTorch; beside it it is slow on large images.
        return tuple(t for t in usual if t.component != NUMPY.component or witness or TORCH.missing(t))
    chosen: dict[str, Target] = {}
    for name in names:
        if name in GROUPS:
            chosen.update({target.name: target for target in _of_role(all_targets, *GROUPS[name])})
            continue
        component, version, variant = _parts(name)
        if version is None:
            found = _matching(_whole(component, variant), all_targets)
        else:
            found = _versioned(name, component, version, variant, all_targets)
        chosen.update({target.name: target for target in found})
    if not chosen:
        raise UsageError("no targets given")
    return tuple(chosen.values())


def _of_role(known: Mapping[str, tuple[Adapter, Target]], *roles: TargetRole) -> tuple[Target, ...]:
    return tuple(t for a, t in known.values() if t.role in roles and t.device == "cpu" and not a.missing(t))


def stages_of(target: Target) -> tuple[Stage, ...]:
    """The stages at which a target can end.

    Args:
        target: of any component, or a user's class.

    Returns:
        In the order in which they follow one another; ``RUN`` is the last.
    """
    if "class" in target.options:
        return (Stage.IMPORT, Stage.RUN)
    usual = (Stage.IMPORT, Stage.CONVERT, Stage.RUN)
    mode = str(target.options.get("mode", target.component))
    return STAGES.get(f"{target.component}:{mode}", STAGES.get(mode, usual))


def versions_of(target: Target) -> tuple[Availability, ...]:
    """The same variant of a component in every environment that has it, irfuzz's own first; the target included.

    Returns:
        Available or not, as ``describe`` says; empty for a component that is not built in, which has no other versions.
    """
    if not any(adapter.component == target.component for adapter in BUILT_IN):
        return ()
    component, _, variant = _parts(target.name)
    return tuple(
        a
        for a in describe()
        if a.target.component == component and _parts(a.target.name)[2] == variant and a.target.device == target.device
    )


def adapter_of(target: Target) -> Adapter:
    """The adapter that runs ``target``.

    Args:
        target: in any version of its component; a user's class is known by the option ``class``.

    Raises:
        UsageError: the name is not known.
    """
    source = target.options.get("class")
    component, version, variant = _parts(target.name)
    known = table().get(target.name if version is None else _whole(component, variant))
    if known is not None:
        return known
    if isinstance(source, str):
        return PluginAdapter(target.name, source)
    raise UsageError(f"unknown target {target.name!r}")


def _parts(name: str) -> tuple[str, str | None, str | None]:
    """``ort@1.29.0:all@cuda`` as ``("onnxruntime", "1.29.0", "all@cuda")``; ``None`` for what is not there.

    Only components of ours have versions: a plug-in's file may have an ``@`` in its path.
    """
    head, colon, variant = name.partition(":")
    component, at, version = head.partition("@")
    component = ALIASES.get(component, component)
    if component not in {adapter.component for adapter in BUILT_IN}:
        component, at, version = head, "", ""
    return component, version if at else None, variant if colon else None


def component_of(name: str) -> str:
    """The component of a target's name, as a user writes it.

    Args:
        name: such as ``onnxruntime@1.20.1:all``, which gives ``onnxruntime``.
    """
    return _parts(name)[0]


def _whole(component: str, variant: str | None) -> str:
    return component if variant is None else f"{component}:{variant}"


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
        plugin = PluginAdapter(name, name)
        (target,) = plugin.targets
        why = plugin.not_there()
        if why:
            raise UsageError(f"target {name!r} cannot be used: {why}")
        return [target]
    raise UsageError(f"unknown target {name!r}; {_known_instead(name, known)}, or package.module:Class of your own")


def _known_instead(name: str, known: Mapping[str, tuple[Adapter, Target]]) -> str:
    """What may be meant, and what is known: the variants of a component, or of a name that is none the components."""
    components = dict.fromkeys(adapter.component for adapter, _ in known.values())
    near = difflib.get_close_matches(name, [*components, *known], 1)
    meant = _misplaced_version(name) or next(iter(near), "")
    hint = f"did you mean {meant!r}? " if meant else ""
    component = name.partition(":")[0]
    if component in components:
        return f"{hint}known: {', '.join(n for n, (adapter, _) in known.items() if adapter.component == component)}"
    return f"{hint}known: {', '.join(components)} (`irfuzz targets` has their variants)"


def _misplaced_version(name: str) -> str:
    """``onnxruntime@1.29.0:all`` if somebody wrote ``onnxruntime:all@1.29.0``; empty otherwise."""
    component, at, variant = _parts(name)
    level, _, version = (variant or "").rpartition("@")
    right = f"{component}@{version}:{level}"
    return right if level and not at and version[:1].isdigit() and _parts(right)[1] else ""


def _versioned(
    name: str, component: str, version: str, variant: str | None, own: dict[str, tuple[Adapter, Target]]
) -> list[Target]:
    """Targets of environments whose version or name is ``version`` or matches it; of irfuzz's own if that has it."""
    all_of_it = [e for e in environments.installed() if any(a.component == component for a in _serving(e))]
    found = [e for e in all_of_it if fnmatch.fnmatchcase(label_of(e), version)]
    found = found or [e for e in all_of_it if fnmatch.fnmatchcase(e.name, version)]
    mine = next((t.version for _, t in own.values() if t.component == component), "")
    if version == mine and not any(e.name == version for e in found):
        return _matching(_whole(component, variant), own)
    if not found:
        found = [e for e in all_of_it if e.wanted == version]
        if len(found) > 1:
            names = ", ".join(f"{component}@{e.name}" for e in found)
            raise UsageError(f"target {name!r}: more than one environment has {version}; choose one of {names}")
    if not found:
        distribution = next(a.distributions[0] for a in BUILT_IN if a.component == component)
        there = ", ".join(dict.fromkeys([*([mine] if mine else []), *(label_of(e) for e in all_of_it)])) or "none"
        raise UsageError(
            f"target {name!r}: there is no {distribution} {version} (there is: {there}); "
            f"run `irfuzz env add {distribution}=={version}` first"
        )
    chosen: list[Target] = []
    for environment in found:
        all_there = [a for a in _of(environment) if a.target.component == component]
        there = [a for a in all_there if _means(variant, _parts(a.target.name)[2] or "")]
        if not there:
            known = ", ".join(a.target.name for a in all_there)
            raise UsageError(f"unknown target {name!r}; known: {known}")
        usable = [a.target for a in there if not a.why_not]
        if not usable:
            raise UsageError(f"target {name!r} cannot be used: {there[0].why_not}")
        chosen += usable
    return chosen


def _means(wanted: str | None, variant: str) -> bool:
    """Whether a variant is among those wanted; all on the CPU if none is named."""
    if wanted is None:
        return "@" not in variant
    return fnmatch.fnmatchcase(variant, wanted) and ("@" in wanted or "@" not in variant)


def label_of(environment: Environment) -> str:
    """What stands behind the ``@`` of its targets: the version; its name if that is not the usual one.

    The usual one is that of the component's first distribution: ``onnxruntime-gpu`` beside it is told by its name.
    """
    first = next((a.distributions[0] for a in _serving(environment)), "")
    usual = environments.usual_name(first, environment.wanted)
    return environment.wanted if environment.name == usual else environment.name


def _serving(environment: Environment) -> list[Adapter]:
    """The adapters whose components an environment's distribution brings, and what else they need its packages."""
    own = [a for a in BUILT_IN if environment.distribution in a.distributions]
    return [a for a in own if not (environment.packages and lacking(a, environment.packages))]


def lacking(adapter: Adapter, packages: Iterable[str]) -> list[str]:
    """Which packages an adapter's component needs that are not among ``packages`` (distributions).

    Args:
        adapter: only generated source and tools need any besides their own.
        packages: names; ``-cpu`` and ``-gpu`` at their end do not count.
    """
    there = {re.sub(r"-(cpu|gpu)$", "", name) for name in packages}
    needs = adapter.needs if isinstance(adapter, SourceAdapter | ToolAdapter) else ()
    return [name for name in needs if name not in there]


def _of(environment: Environment) -> list[Availability]:
    """The targets of an environment; those of devices that its distribution has nothing for are left out."""
    there = os.access(environment.interpreter, os.X_OK)
    why = (
        ""
        if there
        else (
            f"its interpreter {environment.interpreter} is gone; run `irfuzz env remove {environment.name}` "
            f"and `irfuzz env add {environment.requirement}`"
        )
    )
    found = []
    for adapter in _serving(environment):
        # What a tool makes runs on the runtime of irfuzz's own environment, which says what it takes.
        limits = (0, 0) if isinstance(adapter, ToolAdapter) else (environment.opset, environment.ir)
        for target in adapter.targets:
            if target.device != "cpu" and environment.distribution != adapter.distributions[-1]:
                continue
            lacking = reasons(why, _without_device(adapter, environment, target.device))
            variant = target.name.partition(":")[2]
            name = f"{adapter.component}@{label_of(environment)}" + (f":{variant}" if variant else "")
            versioned = replace(
                target,
                name=name,
                version=environment.version,
                interpreter=environment.interpreter,
                environment=environment.name,
                requirement=environment.for_pip,
                opset=limits[0],
                ir=limits[1],
            )
            found.append(Availability(versioned, lacking))
    return found


def _without_device(adapter: Adapter, environment: Environment, device: str) -> str:
    """Why what an environment has cannot compute on a device; empty if nothing says so."""
    if device == "cpu":
        return ""
    there = {**environment.packages, environment.distribution: environment.version}
    why = why_no_cuda(adapter.component, there.get)
    if not why and device == "tensorrt":
        folders = Path(environment.interpreter).parents[1].glob("lib/python3*/site-packages/onnxruntime")
        why = next(filter(None, map(why_no_tensorrt, folders)), "")
    return reasons(why_no_gpu(), why)


def _targets(known: dict[str, Adapter]) -> list[tuple[Adapter, Target]]:
    """Each name's target, with its version."""
    found = []
    for name, adapter in known.items():
        target = next(t for t in adapter.targets if t.name == name)
        version = next((v for d in adapter.distributions if (v := installed_version(d)) is not None), "")
        found.append((adapter, replace(target, version=version)))
    return found
