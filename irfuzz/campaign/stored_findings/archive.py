"""Where a campaign keeps its findings: known ones are counted, new ones replayed, stored and written to folders."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import replace

from irfuzz.campaign.config import Config, Layout
from irfuzz.campaign.corpus.hazard_input_steering import marked
from irfuzz.campaign.stored_findings.folder_placement import move_bundle, place_bundle, withdraw_bundle
from irfuzz.campaign.triage.recognised_faults import RecognisedFaults
from irfuzz.findings.codec import explained_by, finding_of, row_of
from irfuzz.findings.finding import Finding
from irfuzz.findings.known_issues import labelled
from irfuzz.findings.pipeline import DroppedFinding, Step, pass_through
from irfuzz.findings.suspect_finding_groups import group_of
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.oracle import normalise_message, signature
from irfuzz.oracle.fault_signature import SMALL_PROGRAM
from irfuzz.oracle.message_normalization import names_of
from irfuzz.oracle.verdict import Symptom, Verdict
from irfuzz.report.finding_folder_writer import write_shown
from irfuzz.report.repro_scripts.two_form_script import ORACLE
from irfuzz.store.database import Database, Status

TELLING = frozenset({Symptom.CRASH, Symptom.HANG, Symptom.MEMORY, Symptom.REJECTION, Symptom.PROTOCOL})
"""Symptoms whose message names the fault, so that a known one is recognised before it is made small."""

SUSPECT = "suspect"
"""Beginning of the signatures of suspects."""

REPEATED = DroppedFinding("repeated")

UNFINISHED = DroppedFinding("unfinished")
"""What its own script had not shown when the time of the campaign was up."""

UNREPEATABLE = "unrepeatable"
"""Label of what fresh processes did not show, and reason why it is dropped."""

FAILED = "set aside"
"""Label of what irfuzz itself failed at."""

NO_PROOF = tuple(f"{label}|" for label in (UNFINISHED.reason, UNREPEATABLE, FAILED))
"""Beginnings of the signatures of what is kept without a proof, though it is no suspect; it explains nothing else."""

TIME_UP = "the time of the campaign was up before this script had shown it"

NEW, KNOWN, UNREPLAYED = "findings", "findings of known issues", "unreplayed"
"""Names of counts: what was stored."""


def words_of(verdict: Verdict, program: Program) -> str:
    """What a rejection says, without names and numbers; empty for other symptoms.

    Args:
        verdict: with the component's message.
        program: whose own names are taken out of it.
    """
    if verdict.symptom is not Symptom.REJECTION:
        return ""
    return normalise_message(verdict.message, names_of(program))


def _is_dumb(verdict: Verdict) -> bool:
    """Whether all that is said is which signal killed a process: of a large program that tells nothing of the fault."""
    return verdict.symptom is Symptom.CRASH and verdict.message.startswith("SIG")


class CampaignArchive:
    """The ``Archive`` of one job's pipelines, with what it knows by now.

    Args:
        layout: where drafts and folders go.
        database: where findings go.
        config: of the campaign.
        versions: gives a finding the versions in which it shows, and the name of the newest.
        patience: seconds after which a finding has to be stored, as it then is.
        identity: says in which version the target of a name runs here; empty if it does not. What another version has
            shown explains nothing.

    Attributes:
        recognised: by what faults are known that were looked into.
        unfinished: number under which the last finding was kept that was not shown yet when the time was up; 0 if its
            place was known.
    """

    def __init__(
        self,
        layout: Layout,
        database: Database,
        config: Config,
        versions: Callable[[Finding], Finding] = lambda finding: finding,
        patience: Callable[[], float] = lambda: math.inf,
        identity: Callable[[str], str] = lambda target: "",
    ) -> None:
        self._layout = layout
        self._database = database
        self._seconds = max(120.0, 12 * config.timeout)
        self._limits = Limits(seconds=config.timeout, memory_bytes=config.memory)
        self._versions = versions
        self._patience = patience
        self.unfinished = 0
        self.recognised = RecognisedFaults(database, identity)
        self.recognised.learn()

    def knows(self, verdict: Verdict, program: Program, *, doubted: int = 0) -> bool:
        """Whether a verdict is a known finding's by its message alone; it is counted then.

        Args:
            verdict: what is seen.
            program: on which.
            doubted: number under which it is stored as a suspect; 0 if it is not.
        """
        key = self._known_key(verdict, program)
        if not key:
            return False
        self._repeats(self.recognised.name(key), doubted)
        return True

    def recognises(self, verdict: Verdict, program: Program) -> bool:
        """Whether a verdict is a known finding's by its message alone; nothing is counted.

        Args:
            verdict: what is seen.
            program: on which.
        """
        return bool(self._known_key(verdict, program))

    def _known_key(self, verdict: Verdict, program: Program) -> str:
        """The signature by which a message names a known finding; empty if it names none."""
        if verdict.symptom not in TELLING or (_is_dumb(verdict) and len(program.graph) > SMALL_PROGRAM):
            return ""
        key = signature(verdict, program)
        return key if key in self.recognised.signatures else ""

    def count_again(self, key: str) -> bool:
        """Count a stored finding once more; False if its signature is new.

        Args:
            key: the signature under which it may be stored, by this job or another.
        """
        return self._database.count_again(key)

    def call(self, key: str, name: str) -> None:
        """Count what is found under one signature as a finding of another from now on.

        Args:
            key: the signature as it will be seen.
            name: the signature of the stored finding. This job alone remembers it, and only as long as it runs.
        """
        self.recognised.call(key, name)

    def take(self, finding: Finding, way: Iterable[Step]) -> str:
        """Send a finding along its way; returns what to count.

        Args:
            finding: as it was seen.
            way: the steps, such as ``pipeline.steps`` gives.

        Returns:
            ``NEW``, ``KNOWN`` if a known issue explains it, ``UNREPLAYED`` if its own script does not show it, or why
            it was dropped.
        """
        self.recognised.forget_noted()
        found = pass_through(finding, way)
        if found != UNFINISHED:
            self.recognised.store_noted()
        if isinstance(found, DroppedFinding):
            return found.reason
        if found.status is not Status.CONFIRMED:
            return UNREPLAYED
        return KNOWN if found.known else NEW

    def settle(self, finding: Finding) -> Finding | DroppedFinding:
        """The finding under the name of its cause and of the newest version that shows it, unless that is known."""
        verdict = finding.verdict
        finding = self._under_its_cause(finding)
        key = finding.signature
        self.recognised.forget_noted()
        if finding.before is not None:
            seen, program = finding.before.verdict, finding.before.case.program
            self.recognised.note_small(seen, words_of(seen, program), verdict, finding.case.program)
            self.recognised.note_signature(signature(seen, program) if seen.symptom in TELLING else key)
        self.recognised.note_signature(key)
        if not finding.number and self._repeats(self.recognised.name(key), finding.doubted):
            return REPEATED
        cut_out = finding.before is not None and finding.before.case is not finding.original
        finding = replace(finding, verdict=replace(verdict, cut_out=cut_out), signature=key)
        if finding.number:
            return replace(self._versions(finding), signature=key)
        finding = self._versions(finding)
        self.recognised.call(key, finding.signature)  # one fault of several versions is one finding, whichever shows it
        return finding

    def _under_its_cause(self, finding: Finding) -> Finding:
        """The finding under the signature of one of its cause, and under its number if its own program is smaller."""
        known = self._proven()
        if any(key == finding.signature for _, key, _ in known):
            return finding
        found = explained_by(finding, [verdict for _, _, verdict in known])
        if found is None:
            return finding
        place, smaller = found
        number, key, _ = known[place]
        return replace(finding, signature=key, number=number if smaller else 0)

    def replay(self, finding: Finding) -> Finding | DroppedFinding:
        """The finding with the issues that explain it, and with a script, as a draft's folder shows it.

        The script is run in the target's own interpreter; the draft is removed afterwards.

        Returns:
            ``REPEATED`` if a finding of the same signature was stored by now, which is counted then. ``UNFINISHED`` if
            the time was up before the script had shown it: it is kept apart under the number ``unfinished``, and takes
            the place of that if its script shows it when the campaign goes on.
        """
        if not finding.number and self._repeats(finding.signature, finding.doubted):
            return REPEATED
        self._layout.drafts.mkdir(exist_ok=True)  # a campaign's folder that was removed is not made again
        draft = self._layout.drafts / f"job{finding.job}"
        shutil.rmtree(draft, ignore_errors=True)
        python = next(r.target.interpreter for r in finding.results if r.target.name == finding.verdict.target)
        # The rules of known issues are about what others contradict.
        finding = finding if finding.verdict.oracle == ORACLE else labelled(_marked(finding))
        until = time.monotonic() + self._patience()
        finding = write_shown(
            draft, finding, seconds=self._seconds, python=python, until=until, limits=self._limits
        )  # fmt: skip
        shutil.rmtree(draft, ignore_errors=True)
        if finding.status is not Status.CONFIRMED and time.monotonic() >= until:
            self.unfinished = self.keep_suspect(replace(finding, printed=TIME_UP), UNFINISHED.reason).doubted
            return UNFINISHED
        return finding

    def store(self, finding: Finding) -> Finding | DroppedFinding:
        """Store a finding, and write its folder, which can be made from its row at any time.

        A finding with a number takes the place of the stored case of its cause, and one that was a suspect takes the
        row and the folder of that.

        Returns:
            The finding with its number; ``REPEATED`` if a stored one stands for it already.
        """
        if finding.number:
            return self._stands_for(finding)
        if finding.doubted:
            return self._promote(finding)
        number = self._database.add_finding(row_of(finding))
        if number is None:
            return REPEATED
        finding = replace(finding, number=number)
        place_bundle(self._layout, finding)
        return finding

    def _stands_for(self, finding: Finding) -> Finding | DroppedFinding:
        """Let a smaller program stand for the finding of its number; what a person has labelled stays as it is."""
        if finding.status is not Status.CONFIRMED:
            self._repeats(finding.signature, finding.doubted)
            return REPEATED
        withdrawn = withdraw_bundle(self._layout, finding.number)
        self._database.replace_finding(row_of(finding), explains=finding.doubted)
        if withdrawn:
            place_bundle(self._layout, finding)
        self._leave(finding.doubted)
        return REPEATED

    def _promote(self, finding: Finding) -> Finding | DroppedFinding:
        """Let a finding take the row and the folder that it had before it was proven."""
        finding = replace(finding, number=finding.doubted, doubted=0, group="")
        if finding.status is Status.UNREPLAYED:
            withdraw_bundle(self._layout, finding.number)  # it has another script now
        if not self._database.promote(row_of(finding)):
            self._leave(finding.number)
            return REPEATED
        move_bundle(self._layout, finding)
        return finding

    def _repeats(self, key: str, doubted: int) -> bool:
        """Count a stored finding once more, which explains a suspect; False if its signature is new."""
        if not self._database.count_again(key, explains=doubted):
            return False
        self._leave(doubted)
        return True

    def _leave(self, doubted: int) -> None:
        """Remove the folder of a suspect that a finding explains."""
        if doubted:
            move_bundle(self._layout, finding_of(self._database.finding(doubted)))

    def doubts(self, finding: Finding) -> bool:
        """Whether what is kept under the number ``doubted`` of a finding still waits for a proof."""
        return self._database.is_open(finding.doubted, suspect=finding.verdict.suspect)

    def keep_suspect(self, finding: Finding, label: str = SUSPECT) -> Finding:
        """Store what has no proof, once for each place in which it shows.

        Returns:
            The finding with the number under which it is stored now; as it was if its place is known.
        """
        key = _suspect_key(finding, label)
        known = bool(finding.doubted) or key in self.recognised.signatures or self._database.count_again(key)
        self.recognised.signatures.add(key)
        if known:
            return finding
        group = finding.group or group_of(finding.verdict, finding.case.program)
        stored = self.store(replace(_marked(finding).signed(), signature=key, group=group, status=Status.UNREPLAYED))
        return finding if isinstance(stored, DroppedFinding) else replace(finding, doubted=stored.number)

    def has(self, finding: Finding) -> bool:
        """Whether a stored finding is the same as a signed one, or of its cause.

        Args:
            finding: signed, so that it has a signature and a cause; it is not counted.
        """
        return bool(self._stored_as(finding))

    def explains(self, finding: Finding) -> bool:
        """Like ``has``; the stored finding is counted then, and explains the suspect that the other one was.

        Args:
            finding: signed. The folder of that suspect is removed, unless a person has labelled it.
        """
        key = self._stored_as(finding)
        return bool(key) and self._repeats(key, finding.doubted)

    def _proven(self) -> list[tuple[int, str, str]]:
        """Number, signature and verdict of what may explain other findings."""
        return [row for row in self._database.known() if not row[1].startswith(NO_PROOF)]

    def _stored_as(self, finding: Finding) -> str:
        known = self._proven()
        key = self.recognised.name(finding.signature)
        if any(one == key for _, one, _ in known):
            return key
        found = explained_by(finding, [verdict for _, _, verdict in known])
        return "" if found is None else known[found[0]][1]

    def keep_smaller(self, suspect: Finding) -> None:
        """Let a smaller case stand for a stored suspect, whose doubt did not fall.

        Its number and signature stay. The folder is written again, unless a person has labelled it.

        Args:
            suspect: with the smaller case, and with the number of the stored one in ``doubted``.
        """
        row = self._database.finding(suspect.doubted)
        smaller = replace(
            _marked(suspect).signed(), signature=row.signature, number=row.number, status=Status.UNREPLAYED,
            group=group_of(suspect.verdict, suspect.case.program),
        )  # fmt: skip
        withdrawn = withdraw_bundle(self._layout, row.number)
        self._database.replace_finding(row_of(smaller))
        if withdrawn:
            place_bundle(self._layout, smaller)


def _suspect_key(finding: Finding, label: str) -> str:
    """The signature of what has no proof: its place, for without a proof there is nothing to make small."""
    verdict, program = finding.verdict, finding.case.program
    if verdict.symptom in TELLING:
        return f"{label}|{signature(verdict, program)}"
    output = program.value(verdict.output)
    producer = None if output is None else output.producer()
    return f"{label}|{verdict.symptom}|{verdict.target}|{'' if producer is None else producer.op_type}"


def _marked(finding: Finding) -> Finding:
    """The finding with what its inputs were steered to, and whether a NaN or an infinity is right."""
    case = finding.case
    return replace(finding, verdict=marked(finding.verdict, case.program, case.inputs, finding.hunt))
