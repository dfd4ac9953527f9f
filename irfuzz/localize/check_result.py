"""What a check found: who disagrees, for how many causes, how far apart the outputs are, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from irfuzz.execute.run_types import Target, Value
from irfuzz.localize.comparison.graph_output_distances import OutputDistance, OutputRange
from irfuzz.localize.comparison.sample_disagreements import Disagreement
from irfuzz.localize.disagreement_grouping import Divergence
from irfuzz.localize.nodes.causal_testing import Causes
from irfuzz.localize.nodes.control_flow_unrolling import Unfolded
from irfuzz.localize.nodes.localization_map import LocalizationMap
from irfuzz.localize.nodes.single_node_replay import Replayed
from irfuzz.oracle.cradle_distances import Inconsistency


@dataclass(frozen=True, slots=True)
class Located:
    """Where two targets part.

    Attributes:
        base: whose values every node got in the replay.
        target: who is off.
        sample: on which input.
        map: CRADLE's; ``None`` if hidden states could not be read (``why_not``).
        replayed: each node alone, the faulty ones first.
        why_not: why there is no map.
        causes: AUDEE's, if they were asked for.
        unfolded: the program whose nodes are told, if bodies and functions were written out for this input.
    """

    base: str
    target: str
    sample: int
    map: LocalizationMap | None
    replayed: tuple[Replayed, ...]
    why_not: str = ""
    causes: Causes | None = None
    unfolded: Unfolded | None = None


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a check found.

    Attributes:
        targets: those that ran, with versions.
        absent: reasons by target name of those that could not run the model.
        samples: how many inputs were compared.
        wanted: how many there were.
        disagreements: of samples and targets.
        divergences: the same, one for each cause.
        inconsistencies: CRADLE's, of every pair of targets; empty without labels.
        located: for the worst disagreement of each component.
        farthest: largest difference of each target to the base, by name.
        base: the target to which differences are measured.
        outputs: by target and output, one value a sample; only if they were asked for.
        ranges: what the base computed, by output.
        distances: how far every other target is from it, by target and output.
        broken: rules of ONNX that the model breaks with the sizes that were fed, if targets refuse it.
        accepting: the targets that run a model that breaks a rule.
        nowhere: numbers of the inputs that no target runs, with the reason.
        witnesses: targets that were asked only because others differ, or too few ran.
        stopped: what ended the check early; empty if nothing did.
        left_out: what there was no time for.
    """

    targets: tuple[Target, ...]
    absent: Mapping[str, str]
    samples: int
    wanted: int
    disagreements: tuple[Disagreement, ...]
    divergences: tuple[Divergence, ...]
    inconsistencies: tuple[Inconsistency, ...]
    located: tuple[Located, ...]
    farthest: Mapping[str, float]
    base: str
    outputs: Mapping[str, Mapping[str, list[Value]]]
    ranges: tuple[OutputRange, ...] = ()
    distances: tuple[OutputDistance, ...] = ()
    broken: tuple[str, ...] = ()
    accepting: tuple[str, ...] = ()
    nowhere: Mapping[int, str] = field(default_factory=dict[int, str])
    witnesses: tuple[str, ...] = ()
    stopped: str = ""
    left_out: tuple[str, ...] = ()

    @property
    def agree(self) -> bool:
        """Whether all targets compute the same, as far as that is defined.

        No if a divergence counts, a pair is inconsistent by its distances to the labels, or the model breaks a rule of
        ONNX. What is undecided or excused is no disagreement.
        """
        apart = any(d.counts for d in self.divergences) or any(i.inconsistent for i in self.inconsistencies)
        return not (apart or self.broken)

    @property
    def empty(self) -> tuple[str, ...]:
        """Outputs of which nothing was compared: all NaN, or without elements, on every target and input."""
        return tuple(r.output for r in self.ranges if r.empty)

    @property
    def unclear(self) -> tuple[str, ...]:
        """What a strict check does not accept though nobody disagrees, one line each.

        That are undecided divergences, outputs that are NaN or empty everywhere, inputs that run on no target, and an
        early end.
        """
        told = [f"{', '.join(d.targets)}: {d.what}" for d in self.divergences if d.undecided and not d.excused]
        told += [f"output {name!r} is NaN or empty everywhere" for name in self.empty]
        told += [f"input {number} runs on no target" for number in self.nowhere]
        return (*told, *((self.stopped,) if self.stopped else ()))

    @property
    def apart(self) -> tuple[str, ...]:
        """Names of the targets that disagree, in the order of ``targets``; empty if all agree."""
        names = {name for d in self.divergences if d.counts for name in d.targets}
        return tuple(t.name for t in self.targets if t.name in names)
