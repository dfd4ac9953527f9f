"""Writes a finding's ``repro.py``: plain Python that shows it without irfuzz."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from irfuzz.errors import InternalError
from irfuzz.execute.adapters.converter_tools import ToolAdapter
from irfuzz.execute.versions.installation import companions
from irfuzz.findings.finding import TargetRun
from irfuzz.oracle.verdict import Symptom
from irfuzz.report.repro_scripts import code_templates, tool_templates
from irfuzz.report.repro_scripts.gpu_templates import on_gpu

LONGEST_TITLE = 300
"""Characters."""


@dataclass(frozen=True, slots=True)
class ReproSpec:
    """What a script has to show.

    Attributes:
        title: one line.
        symptom: what is wrong.
        blamed: the target at fault.
        witnesses: targets that it is compared with, which agree with each other.
        output: the graph output that shows it; empty if the whole run is meant.
        place: where in that output, ``((), (0, 3))``: positions in sequences, then the element's index; ``None`` if
            all of the output is compared.
        bound: largest absolute difference that would still be accepted; ``None`` or 0 for none at all.
        outputs: names of the graph outputs.
        odd_inputs: the inputs are not all tensors of numpy's own numbers.
        odd_types: an input or output has an element type that numpy lacks.
        seconds: after which a run counts as hanging.
        memory: bytes that a run may take, if the symptom is memory.
        runs: how often the model runs in one process before it shows, as a leak does.
        alone: NaN as such is shown, with no witness to say that there should be a number.
        passes: optimiser passes without which the fault vanishes; empty if none are known.
        copied: the modules of users' classes are beside the script.
    """

    title: str
    symptom: Symptom
    blamed: TargetRun
    witnesses: Sequence[TargetRun]
    output: str = ""
    place: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    bound: float | None = None
    outputs: Sequence[str] = field(default_factory=tuple)
    odd_inputs: bool = False
    odd_types: bool = False
    seconds: float = 60.0
    memory: int = 0
    runs: int = 1
    alone: bool = False
    passes: Sequence[str] = ()
    copied: bool = False


def repro_source(scene: ReproSpec) -> str:
    """The script's text, which runs the blamed target and the witnesses on the files beside it and needs no irfuzz.

    It exits with 1 if the fault shows, 0 if it does not, and 2 if that cannot be told.

    Raises:
        InternalError: a target of an unknown component.
    """
    parts = [
        f'"""{one_line(scene.title)}\n\n{_usage(scene)}"""\n\n{_imports(scene)}\n{code_templates.IMPORTS}',
        code_templates.ODD_INPUTS if scene.odd_inputs else code_templates.PLAIN_INPUTS,
        *_runners(scene),
        _settings(scene),
        *_with_mended(scene, _with_recorded(scene, _repeated(scene, _judgement(scene)))),
        code_templates.VERDICT,
        _end(scene),
    ]
    return "\n\n\n".join(part.strip("\n") for part in parts) + "\n"


def _in_child(scene: ReproSpec) -> bool:
    """True if the script's own process would not survive."""
    return scene.symptom in (Symptom.CRASH, Symptom.HANG, Symptom.MEMORY, Symptom.PROTOCOL)


def _usage(scene: ReproSpec) -> str:
    needed = {"reference": "onnx", "plugin": ""}
    packages = dict.fromkeys(needed.get(kind := _kind(p), kind) for p in _together(scene) if kind_of_tool(p) is None)
    files = ["model.onnx", "inputs.npz"]
    tool = kind_of_tool(scene.blamed)
    if tool is not None:
        packages = dict.fromkeys([*tool_templates.packages_of(tool), *packages])
        files += tool_templates.files_of(tool)
    for name in ("torch", "tensorflow", "keras", "numpy", "jax"):
        lowered = name in packages or (tool is not None and tool.takes == name)
        files += [f"{name}_model.py", f"{name}_weights.npz"] if lowered else []
    files += ["plugin (a copy; one in the current folder, or installed, comes first)"] if scene.copied else []
    parties = (scene.blamed, *scene.witnesses)
    seen = ", ".join(dict.fromkeys(f"{one_line(p.component)} {one_line(p.version)}".strip() for p in parties))
    return (
        f"Seen with {seen}.\n\n"
        "    python repro.py    # exit code 1 where it shows, 0 where it does not, 2 where it cannot be told\n\n"
        f"Needs {', '.join(p for p in dict.fromkeys(['numpy', *packages]) if p)}, and beside it {', '.join(files)}.\n"
        f"{_how_to_get(scene)}{pass_note(scene)}"
    )


def pass_note(scene: ReproSpec) -> str:
    """A line on the optimiser passes without which the fault vanishes; empty if none are known, or another component
    than onnxruntime is blamed.
    """
    if not scene.passes or scene.blamed.component != "onnxruntime":
        return ""
    return f"It vanishes with InferenceSession(..., disabled_optimizers={list(scene.passes)!r}).\n"


def _how_to_get(scene: ReproSpec) -> str:
    """How to run the version that is blamed, if it is not simply the one at hand."""
    if not scene.blamed.requirement:
        return ""
    component, *others = (shlex.quote(one_line(word)) for word in scene.blamed.requirement.split())
    added = companions(component.partition("==")[0], others)
    more = "".join(f" --with {other}" for other in others if other not in ("numpy", *added))
    tool = kind_of_tool(scene.blamed)
    if tool is not None and tool.npm:
        return f"\n    npm install {component.replace('==', '@')}; python repro.py\n"
    if tool is not None:  # the environment may be from before it got all of this
        there = {re.sub(r"(-cpu|-gpu)?([=<>!~].*)?$", "", other) for other in others}
        others += [p for p in tool_templates.packages_of(tool)[1:] if p not in there]
    missing = "Other packages than the blamed one may be missing: what they answered is written down below.\n\n"
    return (
        f"{missing if _recorded(scene) else chr(10)}"
        f"    python -m venv old; old/bin/pip install {' '.join((component, *others))}; old/bin/python repro.py\n\n"
        f"`irfuzz env add {component}{more}` makes the same environment and prints its interpreter.\n"
    )


def _together(scene: ReproSpec) -> list[TargetRun]:
    """Who can run in one process: of one package there is one version, that of the blamed target first of all."""
    environments = {scene.blamed.component: scene.blamed.environment}
    parties = (scene.blamed, *scene.witnesses)
    return [p for p in parties if environments.setdefault(p.component, p.environment) == p.environment]


def _recorded(scene: ReproSpec) -> dict[str, str]:
    """Answers that count if their targets cannot be run; empty if all are of one environment."""
    if not any(p.environment for p in (scene.blamed, *scene.witnesses)):
        return {}
    own = (scene.blamed.component, scene.blamed.environment)
    return {p.name: p.answer for p in scene.witnesses if p.answer and (p.component, p.environment) != own}


def one_line(text: str) -> str:
    """Text on one line that cannot end a docstring, whatever is in it.

    At most ``LONGEST_TITLE`` characters are kept; backslashes and quotes are replaced, and what is not printable is
    written as an escape.
    """
    flat = " ".join(text.split())[:LONGEST_TITLE].replace("\\", "\\\\").replace('"', "'")
    return "".join(c if c.isprintable() else f"\\\\u{ord(c):04x}" for c in flat)


def _imports(scene: ReproSpec) -> str:
    needed = {"sys"}
    if scene.odd_inputs:
        needed.add("json")
    if any(
        _kind(p) in ("plugin", "tensorflow", "jax") or "tf32" in p.options for p in (scene.blamed, *scene.witnesses)
    ):
        needed.add("os")
    if _kept(scene):
        needed.add("functools")
    if _in_child(scene):
        needed |= {"os", "signal", "subprocess", "tempfile"}
    return "\n".join([*(f"import {name}" for name in sorted(needed)), "from pathlib import Path"])


def _runners(scene: ReproSpec) -> list[str]:
    kinds = dict.fromkeys(_kind(p) for p in _together(scene))
    odd = {"onnxruntime": code_templates.ODD_ONNXRUNTIME} if scene.odd_types else {}
    if _kept(scene):
        odd["plugin"] = code_templates.KEPT_PLUGIN
    if any(p.component == "torch" and _options(p) for p in _together(scene)):
        odd["torch"] = code_templates.MODED_TORCH
    odd["openvino"] = code_templates.OPENVINO.replace("OUTPUT_NAMES", repr(list(scene.outputs)))
    runners = {**code_templates.RUNNERS, "tool": tool_templates.TOOL}
    parts = [odd.get(kind) or runners[kind] for kind in kinds]
    options = {key for p in _together(scene) for key in p.options}
    if "tf32" in options:
        parts = [on_gpu(kind, part) for kind, part in zip(kinds, parts, strict=True)]
    if not any(key.startswith("session.") for key in options):
        parts = [part.replace(code_templates.SETTINGS, "").replace(", **settings)", ")") for part in parts]
    if not mended(scene):
        parts = [part.replace(code_templates.OFF, ")").replace(", off=()", "") for part in parts]
    if "provider" not in options:
        # CPU is said all the same: a build for a GPU would choose that.
        parts = [part.replace(", provider=CPU", "").replace("[provider]", "[CPU]") for part in parts]
    return [re.sub(r'(?<!")\bCPU\b(?!")', '"CPUExecutionProvider"', part) for part in parts]


def _kept(scene: ReproSpec) -> bool:
    """True if an object of a user's class serves several runs."""
    return scene.runs > 1 and any(_kind(p) == "plugin" for p in (scene.blamed, *scene.witnesses))


def can_run(party: TargetRun) -> bool:
    """Whether a script can run a target: one of a user's class, a component with a runner, or a converter or tool."""
    return "class" in party.options or party.component in code_templates.RUNNERS or kind_of_tool(party) is not None


def kind_of_tool(party: TargetRun) -> ToolAdapter | None:
    """The converter or tool that a target is, by its option ``tool``; ``None`` if it is none."""
    return tool_templates.adapter_of(party.options)


def mended(scene: ReproSpec) -> bool:
    """Whether a script shows what comes without the passes to blame.

    It does so for onnxruntime, if those passes are known, a value, type or shape is wrong, and the model runs once.
    """
    of_values = (Symptom.DIFFERENCE, Symptom.NAN_INF, Symptom.WRONG_DTYPE, Symptom.WRONG_SHAPE)
    known = bool(scene.passes) and scene.blamed.component == "onnxruntime"
    return known and scene.symptom in of_values and scene.runs == 1


def _kind(party: TargetRun) -> str:
    if "class" in party.options:
        return "plugin"
    if kind_of_tool(party) is not None:
        return "tool"
    if party.component in code_templates.RUNNERS:
        return party.component
    raise InternalError(f"no reproduction is written for targets of {party.component}")


def _settings(scene: ReproSpec) -> str:
    rows = "".join(f"    {p.name!r}: (run_{_kind(p)}, {_options(p)!r}),\n" for p in _together(scene))
    lines = ["# The first is blamed, the others bear witness.", f"TARGETS = {{\n{rows}}}"]
    if mended(scene):
        options = {**_options(scene.blamed), "off": tuple(scene.passes)}
        lines += ["# The blamed one without the graph transformers that make it.", f"MENDED = {options!r}"]
    recorded = _recorded(scene)
    if recorded:
        rows = "".join(f"    {name!r}: {text},\n" for name, text in recorded.items())
        lines += [
            "# What others answered when it was found; it counts where they cannot run here.",
            f"RECORDED = {{\n{rows}}}",
        ]
    if scene.runs > 1:
        lines.append(f"RUNS = {scene.runs!r}")
    if _in_child(scene):
        lines.append(f"SECONDS = {scene.seconds!r}")
        if scene.symptom is Symptom.PROTOCOL:
            lines.append(f"OUTPUTS = {list(scene.outputs)!r}")
        if scene.symptom is Symptom.MEMORY:
            lines.append(f"MEMORY = {scene.memory!r}")
        return "\n".join(lines)
    lines.append(f"BLAMED = {scene.blamed.name!r}")
    if scene.symptom not in (Symptom.REJECTION, Symptom.LENIENCY):
        lines.append(f"OUTPUT = {scene.output!r}")
    return "\n".join(lines)


def _options(party: TargetRun) -> dict[str, Any]:
    options = dict(party.options)
    if party.component == "onnxruntime":
        level = str(options.get("level", "all"))
        options["level"] = "ORT_DISABLE_ALL" if level == "disabled" else f"ORT_ENABLE_{level.upper()}"
    elif options.get("mode") == "eager":
        del options["mode"]
    return options


def _judgement(scene: ReproSpec) -> list[str]:
    """How the script tells."""
    if _in_child(scene):
        shown = {
            Symptom.CRASH: 'blamed.startswith(("dies", "exits"))',
            Symptom.PROTOCOL: 'blamed.startswith(("dies", "exits", "gives no"))',
            Symptom.HANG: 'blamed.startswith("hangs")',
            Symptom.MEMORY: 'blamed.startswith("dies") or "MemoryError" in blamed or "alloc" in blamed',
        }[scene.symptom]
        if scene.witnesses:
            shown = f'({shown}) and "answers" in others' if " or " in shown else f'{shown} and "answers" in others'
        extra = {Symptom.MEMORY: [code_templates.LIMIT], Symptom.PROTOCOL: [code_templates.USABLE]}.get(
            scene.symptom, []
        )
        answer = code_templates.ANSWERS_USABLY if scene.symptom is Symptom.PROTOCOL else code_templates.ANSWERS
        if scene.runs > 1:
            answer = code_templates.BEFORE + answer
        return [*extra, code_templates.CHILD.replace("SHOWN", shown).replace("ANSWER", answer.strip())]
    if scene.symptom is Symptom.REJECTION:
        return [code_templates.MAIN_REJECTION]
    if scene.symptom is Symptom.LENIENCY:
        return [code_templates.MAIN_LENIENCY]
    if scene.symptom in (Symptom.WRONG_DTYPE, Symptom.WRONG_SHAPE):
        return [code_templates.KIND, code_templates.MAIN_VALUES.replace("{WHAT}", "{OUTPUT!r} is")]
    return _numbers(scene)


def _repeated(scene: ReproSpec, parts: list[str]) -> list[str]:
    """What a script without a child looks at is the last of several runs."""
    if scene.runs == 1 or _in_child(scene):
        return parts
    return [part.replace(code_templates.RUN, f"[{code_templates.RUN} for _ in range(RUNS)][-1]") for part in parts]


def _with_recorded(scene: ReproSpec, parts: list[str]) -> list[str]:
    """Have recorded answers stand in for targets that did not run."""
    if not _recorded(scene):
        return parts
    for before, stand_in in code_templates.STAND_INS.items():
        parts = [part.replace(before, stand_in + before) for part in parts]
    return parts


def _with_mended(scene: ReproSpec, parts: list[str]) -> list[str]:
    """Show what comes without the passes to blame; it decides nothing."""
    line = "    wrong, *others = seen.values()"
    return [part.replace(line, code_templates.MENDED + line) for part in parts] if mended(scene) else parts


def _numbers(scene: ReproSpec) -> list[str]:
    if scene.alone:
        return [code_templates.ALONE]
    single = scene.place is not None
    parts: list[str] = []
    if scene.symptom is Symptom.NAN_INF:
        parts.append(code_templates.SPECIAL if single else code_templates.SPECIALS)
        differs = "special(a) != special(b)"
    elif not scene.bound or scene.bound != scene.bound:
        differs = "bool(a != b)" if single else "a != b"
    elif single:
        # ONNX's rules may ask for a NaN beside numbers: one is no number, and two are alike.
        differs = f"bool((a != a) != (b != b)) or abs(float(a) - float(b)) > {_number(scene.bound)}"
    else:
        differs = f"((a != a) != (b != b)) | (abs(a.astype(float) - b.astype(float)) > {_number(scene.bound)})"
    if scene.place is None:
        parts.append(code_templates.WHOLE.replace("DIFFERS", differs))
        return [*parts, code_templates.MAIN_VALUES.replace("{WHAT}", "{OUTPUT!r} is")]
    places, index = scene.place
    steps = "".join(f"[{i}]" for i in places)
    inner = ", ".join(map(str, index))
    element = f"np.asarray(outputs[OUTPUT]{steps})[{inner or '()'}]"
    parts.append(code_templates.ELEMENT.replace("DIFFERS", differs).replace("LOOKUP", element))
    where = f"{steps}[{inner}]"
    return [*parts, code_templates.MAIN_VALUES.replace("{WHAT}", f"{{OUTPUT!r}}{where} is")]


def _number(value: float) -> str:
    """Source text of a number; infinity has no literal."""
    return repr(value) if abs(value) != float("inf") else f"float({str(value)!r})"


def _end(scene: ReproSpec) -> str:
    branch = code_templates.CHILD_BRANCH if _in_child(scene) else ""
    call = "\n        limit_memory()" if scene.symptom is Symptom.MEMORY else ""
    return code_templates.END.replace("CHILD_BRANCH", branch.replace("LIMIT_CALL", call))
