"""Writes a finding's script in less than 40 lines that build the model, if that can be done."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import onnx

from irfuzz.errors import InvalidProgram
from irfuzz.findings.failing_case import FailingCase
from irfuzz.oracle.verdict import Symptom
from irfuzz.report.repro_scripts.full_script import LONGEST_TITLE, ReproSpec, mended, one_line, pass_note
from irfuzz.report.repro_scripts.model_source import WrittenModel, written_models
from irfuzz.report.repro_scripts.target_snippets import packages_of, runner_of
from irfuzz.report.specification_quotes import sections_of

LINES, COLUMNS = 39, 160

_KIND = '"{0.dtype.name}{1}".format(np.asarray(got), list(np.shape(got)))'
_HOOK = 'sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))'
"""Python would exit with 1 for an error."""


@dataclass(frozen=True, slots=True)
class ScriptParts:
    """What a short script is put together from (``script_text``).

    Attributes:
        imports: lines, numpy apart.
        packages: what has to be installed beside numpy.
        built: source that makes the model, its inputs and ``run``.
        judged: lines that set ``shows``.
    """

    imports: tuple[str, ...]
    packages: tuple[str, ...]
    built: tuple[str, ...]
    judged: tuple[str, ...]


def short_source(scene: ReproSpec, case: FailingCase) -> str | None:
    """The script of a finding's folder; ``None`` if the long one has to do (``repro.repro_source``).

    A version of another environment keeps the long one, which can do without onnx there.

    Args:
        scene: what is to be shown.
        case: the reduced program, and its inputs.
    """
    return None if scene.blamed.environment else one_file_source(scene, case)


def one_file_source(scene: ReproSpec, case: FailingCase) -> str | None:
    """A script of less than 40 lines that needs no file beside it; ``None`` if there is none.

    It compares with what the witnesses answered when it was written, and says why that is right.

    Args:
        scene: what is to be shown.
        case: the reduced program, and its inputs.
    """
    try:
        proto = case.proto
        for parts in script_parts(scene, case):
            about = about_lines(scene, proto, parts.packages)
            text = script_text(scene, about, parts.imports, parts.built, parts.judged)
            if text is not None:
                return text
    except (InvalidProgram, ValueError, TypeError):
        return None  # a model or inputs that cannot be read stay in files
    return None


def script_parts(scene: ReproSpec, case: FailingCase) -> Iterator[ScriptParts]:
    """The parts of short scripts, one for each way to write the model down, that which reads best first.

    None at all if more than a comparison with what was answered shows it, or no few lines run the target.

    Args:
        scene: what is to be shown.
        case: the reduced program, and its inputs.
    """
    blamed, judged, proto = scene.blamed, judged_lines(scene), case.proto
    if scene.odd_types or scene.runs > 1 or judged is None or not proto.graph.output:
        return
    runner = runner_of(blamed, proto, scene.output or proto.graph.output[0].name, scene.symptom)
    if runner is None:
        return
    package, _, run = runner.partition("SETUP\n")
    if mended(scene):
        run = run.replace("lambda:", "lambda off=():").replace('"])', '"], disabled_optimizers=[*off])')
        judged.insert(-1, _without(scene))
    for source in written_models(proto, case.inputs):
        imports = _imports_of(source, package, run)
        needed = ["onnx"] if any(re.search(r"\bonnx\b", line) for line in imports) else []
        packages = tuple(dict.fromkeys([*needed, *packages_of(blamed)]))
        yield ScriptParts(imports, packages, (source.lines, run.strip()), tuple(judged))


def _imports_of(source: WrittenModel, package: str, run: str) -> tuple[str, ...]:
    """Lines in the order in which people write them; onnx itself only if the script names it."""
    own = ["import onnx"] if re.search(r"\bonnx\.", run + package) else []
    given = list(dict.fromkeys([*own, *source.imports]))
    modules = [line for line in given if line.startswith("import")]
    return (*modules, package.strip(), *(line for line in given if line not in modules))


def script_text(
    scene: ReproSpec, about: Sequence[str], imports: Sequence[str], built: Sequence[str], judged: Sequence[str]
) -> str | None:
    """The parts put together; ``None`` if that is too long to be called short.

    Args:
        scene: its title begins the script.
        about: lines of its docstring.
        imports: lines, numpy and what every script needs apart.
        built: source that makes the model, its inputs and ``run``.
        judged: lines that set ``shows``.
    """
    text = "\n".join([
        f'"""{one_line(scene.title)[:LONGEST_TITLE]}', "", *about, '"""',
        "import os, sys", _HOOK, "import numpy as np", *imports, "",
        *built, *judged,
        'print("the fault shows" if shows else "the fault does not show")',
        "sys.exit(int(shows))", "",
    ])  # fmt: skip
    lines = text.splitlines()
    return text if len(lines) <= LINES and max(map(len, lines)) <= COLUMNS * 2 else None


def _without(scene: ReproSpec) -> str:
    """A line that shows what comes without the passes to blame."""
    index = "" if scene.place is None else f"[{', '.join(map(str, scene.place[1])) or '()'}]"
    answer = f"np.asarray(run({list(scene.passes)!r}))"
    of_values = scene.symptom in (Symptom.DIFFERENCE, Symptom.NAN_INF)
    return f'print("without {", ".join(scene.passes)}", {answer}{index if of_values else ".shape"})'


def about_lines(scene: ReproSpec, proto: onnx.ModelProto, packages: Sequence[str]) -> list[str]:
    """What a reader needs to know first: version, packages, exit codes, whose answer is expected and by which section
    of ONNX.

    Args:
        scene: what is to be shown.
        proto: the model.
        packages: what the script imports beside numpy.
    """
    blamed = scene.blamed
    names = ["numpy", *packages]
    seen = f"{one_line(blamed.component)} {one_line(blamed.version)}".strip()
    codes = "Exit code 1 where it shows, 0 where not, 2 where it cannot be told."
    lines = [f"Seen with {seen}; needs {', '.join(names)}. {codes}"]
    if blamed.requirement:
        needed = " ".join(shlex.quote(one_line(word)) for word in blamed.requirement.split())
        lines.append(f"Get it by: python -m venv old; old/bin/pip install {needed} onnx; old/bin/python repro.py")
    witnesses = ", ".join(f"{one_line(w.name)} {one_line(w.version)}".strip() for w in scene.witnesses)
    if witnesses:
        lines.append(f"What is expected is what {witnesses} answer")
        lines[-1] += ", by:" if sections_of(proto) else "."
        lines += [f"  {s.name}, {s.link}" for s in sections_of(proto)]
    note = pass_note(scene)
    return [*lines, note.strip()] if note else lines


def judged_lines(scene: ReproSpec, right: str = "") -> list[str] | None:
    """How the script tells, in lines; ``None`` if it takes more than a comparison.

    Args:
        scene: what is to be shown.
        right: source of what is expected, if the script can compute it.
    """
    if scene.symptom is Symptom.REJECTION:
        return [
            "shows, got = False, None", "try:", "    got = run()", "except Exception as error:",
            '    shows, got = True, f"{type(error).__name__}: {error}"',
            'print("expected an answer, got", got)',
        ]  # fmt: skip
    if scene.symptom is Symptom.CRASH:
        return [
            "child = os.fork()", "if not child:", "    run()", "    os._exit(0)",
            "status = os.waitpid(child, 0)[1]",
            "if status and not os.WIFSIGNALED(status):", "    sys.exit(2)  # the child has said why",
            "shows = status != 0",
            'print("expected an answer, got", "a process that dies" if shows else "one")',
        ]  # fmt: skip
    answers = {w.answer for w in scene.witnesses}
    if scene.symptom is Symptom.LENIENCY:
        return None  # what has to be seen is that others refuse
    if not answers or "" in answers or not scene.output:
        return None
    expected = scene.witnesses[0].answer
    if scene.symptom in (Symptom.WRONG_DTYPE, Symptom.WRONG_SHAPE):
        return None if len(answers) > 1 else _of_kinds(expected)
    if scene.symptom not in (Symptom.DIFFERENCE, Symptom.NAN_INF) or scene.place is None:
        return None
    steps = "".join(f"[{i}]" for i in scene.place[0])
    index = ", ".join(map(str, scene.place[1]))
    expected = f"np.asarray({right}{steps})[{index or '()'}]" if right else expected
    lines = [f"got = np.asarray(run(){steps})[{index or '()'}]", f"expected = {expected}",
             'print("expected", expected, "got", got)']  # fmt: skip
    if scene.symptom is Symptom.NAN_INF:
        return [*lines, "kind = lambda x: str(float(x)) if not np.isfinite(float(x)) else 0",
                "shows = kind(got) != kind(expected)"]  # fmt: skip
    if not scene.bound or not np.isfinite(scene.bound):
        return [*lines, "shows = bool(got != expected)"]
    # The witnesses may differ by rounding, which the bound has room for.
    near = f"abs(float(got) - float(expected)) <= {scene.bound!r}"
    return [*lines, f"shows = not ({near} or got != got and expected != expected)"]


def _of_kinds(expected: str) -> list[str]:
    """How a script tells of element type and shape."""
    if any(word in expected for word in ("string", "sequence", "nothing")):
        kind = [
            "def kind(value):", "    if isinstance(value, (list, tuple)):",
            '        return f"sequence of {[kind(item) for item in value]}"', "    array = np.asarray(value)",
            """    name = "string" if array.dtype.kind in "OUS" else array.dtype.name""",
            '    return "nothing" if value is None else f"{name}{list(array.shape)}"', "got = kind(run())",
        ]  # fmt: skip
    else:
        kind = ["got = run()", f'got = "a sequence" if isinstance(got, list) else {_KIND}']
    return [*kind, f"expected = {expected}", 'print("expected", expected, "got", got)', "shows = got != expected"]
