"""The text by which equal faults are one, and a title, for a verdict."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from irfuzz.oracle.message_normalization import names_of, normalise_message
from irfuzz.oracle.signature_details import details
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.spec import has_trait, with_trait

if TYPE_CHECKING:
    import onnx_ir as ir

    from irfuzz.ir.program import Program

SMALL_PROGRAM = 4
"""Up to this many nodes the operators of a reduced program belong to the fault that a message tells of."""

LONGEST = 600
"""Characters of a signature: PostgreSQL takes 2,704 bytes into an index. Of a longer one the end is a digest."""

_BY_MESSAGE = frozenset({Symptom.CRASH, Symptom.PROTOCOL, Symptom.REJECTION})
_BY_VALUE = frozenset({Symptom.DIFFERENCE, Symptom.NAN_INF})


def signature(verdict: Verdict, program: Program) -> str:
    """Text that is equal for verdicts of one fault: symptom, target, and operators or what the component said.

    The target is the plainest level that shows the fault (``judge`` saw to that). If the component told something,
    its normalised message counts, with the operators of a program of at most ``SMALL_PROGRAM`` nodes; everywhere else
    the operators that the output depends on, and for outputs ``;``-separated details (``oracle.signature_details``).
    The program
    should be reduced: operators that have no part in the fault would make another signature.
    """
    parts = [verdict.symptom.value, verdict.target]
    if verdict.symptom in _BY_MESSAGE:
        parts.append(verdict.exit or verdict.stage)
        parts.append(normalise_message(verdict.message, names_of(program)))
        if len(program.graph) <= SMALL_PROGRAM:
            parts.append(",".join(operators_of(verdict, program)))
    elif verdict.symptom is Symptom.LENIENCY:
        parts += [verdict.operator, verdict.rule]
    else:
        parts.append(",".join(operators_of(verdict, program)))
        if verdict.symptom in (Symptom.WRONG_DTYPE, Symptom.WRONG_SHAPE):
            parts.append(";".join(filter(None, (_kinds(verdict), details(verdict, program)))))
        elif verdict.symptom in _BY_VALUE:
            parts.append(details(verdict, program))
    text = "|".join(parts)
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST - 17]} {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def title(verdict: Verdict, program: Program) -> str:
    """One readable line: target, symptom, the operators or the message, and how bad it is.

    Args:
        verdict: told of; ``suspect:`` stands in front of one that is in doubt.
        program: on which; at most four of its operators are named, and its own names are taken out of messages.

    Returns:
        Such as ``onnxruntime:all gives 1 instead of 2 in Add, Relu``.
    """
    ops = operators_of(verdict, program)
    where = f" in {', '.join(ops[:4])}{'...' if len(ops) > 4 else ''}" if ops else ""
    where += f" by {verdict.pass_text}" if verdict.passes else ""
    message = normalise_message(verdict.message, names_of(program)) if verdict.message else ""
    where += " of a program that is invalid on purpose" if verdict.invalid else ""
    told = f": {message}" if message else ""
    gives = f"gives {verdict.got} instead of {verdict.expected}{where}"
    line = {
        Symptom.CRASH: f"crashes{where}{told}",
        Symptom.PROTOCOL: f"gives no answer{where}{told}",
        Symptom.HANG: f"does not come back{where}",
        Symptom.MEMORY: f"runs out of memory{where}",
        Symptom.REJECTION: f"rejects a program that others run{where}{told}",
        Symptom.LENIENCY: f"runs what breaks a rule of {verdict.operator}: {verdict.rule}",
        Symptom.WRONG_DTYPE: gives,
        Symptom.WRONG_SHAPE: gives,
        Symptom.NAN_INF: gives,
        Symptom.DIFFERENCE: gives,
    }[verdict.symptom]
    return f"{'suspect: ' if verdict.suspect else ''}{verdict.target} {line}"


def operators_of(verdict: Verdict, program: Program) -> list[str]:
    """Operator types that the verdict's output depends on (all if it has none), with their domains, sorted.

    ``Cast`` is named only if nothing else is: beside others it mostly feeds them the dtype that they fail on.
    """
    if verdict.operator and verdict.symptom is Symptom.REJECTION:
        return [verdict.operator]  # it is about this one's function body
    output = program.value(verdict.output) if verdict.output else None
    nodes = program.nodes() if output is None else program.ancestors(output)
    names = {_name(n) for n in nodes if not has_trait(n, "transparent")}
    return sorted(names - with_trait("incidental") or names)


def _name(node: ir.Node) -> str:
    return node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"


def _kinds(verdict: Verdict) -> str:
    """Dtypes alone: sizes differ from program to program."""
    if verdict.symptom is Symptom.WRONG_SHAPE:
        return ""
    return "->".join(kind.partition("[")[0] for kind in (verdict.expected, verdict.got))
