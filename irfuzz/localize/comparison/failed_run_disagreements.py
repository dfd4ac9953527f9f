"""How targets ended that did not run through: whose doing it was decides whether that is a disagreement."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from irfuzz.execute.reply_parsing import MEMORY
from irfuzz.execute.run_types import Exit, RunResult, Stage
from irfuzz.localize.comparison.sample_disagreements import Disagreement
from irfuzz.oracle.dispute import Dispute
from irfuzz.oracle.excuses import excuse_of
from irfuzz.oracle.message_normalization import normalise_message
from irfuzz.oracle.refusal_excuses import SLOWEST_WITNESS, left_open
from irfuzz.oracle.verdict import Symptom
from irfuzz.oracle.witnesses_and_blame import LOWERED, REFERENCE, components

DEATHS = frozenset({Exit.CRASH, Exit.EXITED, Exit.PROTOCOL})
"""Ends that no input excuses: a disagreement even if no other target ran."""

_SYMPTOMS: Mapping[Exit, Symptom] = {
    Exit.CRASH: Symptom.CRASH,
    Exit.EXITED: Symptom.CRASH,
    Exit.PROTOCOL: Symptom.PROTOCOL,
    Exit.REJECTED: Symptom.REJECTION,
    Exit.UNSUPPORTED: Symptom.REJECTION,
    Exit.HANG: Symptom.HANG,
    Exit.MEMORY: Symptom.MEMORY,
}


@dataclass(frozen=True, slots=True)
class Allowed:
    """The limits of one run, for messages; the flags are those of ``irfuzz check``.

    Attributes:
        seconds: of one target on one input.
        memory: bytes of a component's worker; ``None`` for no limit.
    """

    seconds: float = 10.0
    memory: int | None = None

    def named(self, result: RunResult) -> str:
        """The limit that ended a run, and its flag; empty if none did.

        Args:
            result: of the run; only hangs and lack of memory are ends by a limit.
        """
        if result.exit is Exit.HANG:
            return f"no answer within {self.seconds:g} s (--timeout SECONDS allows more)"
        if result.exit is Exit.MEMORY and self.memory is not None:
            return f"more memory than the {self.memory >> 20} MiB allowed, or than there is (--memory MIB allows more)"
        return "more memory than there is" if result.exit is Exit.MEMORY else ""


def starved(result: RunResult) -> RunResult:
    """The result, as over the memory limit if what the component printed says that memory ran out; any other result is
    returned as it is.
    """
    told = result.exit is Exit.REJECTED and MEMORY.search(f"{result.error}\n{result.log}") is not None
    return replace(result, exit=Exit.MEMORY) if told else result


def lacks(result: RunResult) -> str:
    """Why a target cannot run the program at all, which is a gap and no fault; empty if it can.

    What irfuzz cannot write for a framework was refused by irfuzz, not by the framework.
    """
    if result.exit is Exit.UNSUPPORTED:
        return result.error
    ours = result.exit is Exit.REJECTED and result.stage is Stage.IMPORT and result.target.component in LOWERED
    return f"irfuzz cannot write it for {result.target.component}: {result.error}" if ours else ""


def ends(
    number: int,
    ran: Sequence[RunResult],
    main: str,
    allowed: Allowed,
    names: Collection[str] = (),
    refused: Mapping[str, Dispute] | None = None,
) -> Iterator[Disagreement]:
    """Targets that do not run through, though another does, or that die.

    Args:
        number: of the sample.
        ran: what each target did.
        main: name of the base.
        allowed: the limits of one run.
        names: of the program's nodes and values, which say nothing in a message.
        refused: disputes about refusals, by target.
    """
    through = [r for r in ran if r.exit is Exit.OK]
    bases = [r.target.name for r in through]
    against = main if main in bases else next(iter(bases), "")
    for r in ran:
        if r.exit is Exit.OK or not (through or r.exit in DEATHS):
            continue
        limit = "" if _hangs(r, through) else allowed.named(r)
        told = limit or (f"{allowed.named(r)}, and others need little" if r.exit is Exit.HANG else r.error)
        dispute = (refused or {}).get(r.target.name)
        opens = "" if dispute is None else left_open(dispute)
        told += f" ({opens})" if opens else ""
        message = f"{r.exit} {normalise_message(r.error, names)}"
        yield Disagreement(
            number, r.target.name, against, "", math.inf, 0.0, f"{r.exit} at {r.stage}: {told}",
            undecided=bool(limit or opens), firm=_firm(r, through, dispute),
            symptom=_SYMPTOMS[r.exit], message=message, said=r.error, limit=limit,
        )  # fmt: skip


def _firm(result: RunResult, through: Sequence[RunResult], dispute: Dispute | None) -> bool:
    """Whether the oracle would tell it as a finding, and not as a suspect."""
    if dispute is not None:
        return not excuse_of(dispute)
    return result.exit in DEATHS or len(through) > 1


def _hangs(result: RunResult, through: Sequence[RunResult]) -> bool:
    """Whether a run over the time limit is the target's fault: two components, one of them quick, kept it with ease."""
    quick = [r for r in through if r.seconds <= SLOWEST_WITNESS]
    others = components([r.target for r in quick]) - {result.target.component}
    return result.exit is Exit.HANG and result.target.component != REFERENCE and len(others) >= 2
