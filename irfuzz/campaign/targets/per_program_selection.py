"""Which targets run on which program: all of them on a sample, the quick and telling ones on each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from irfuzz.campaign.config import VERY_MANY
from irfuzz.execute.run_types import RunResult, Target, TargetRole
from irfuzz.oracle.witnesses_and_blame import ONE_READING

NUMPY = "numpy"
"""The component that computes with irfuzz's own reading of ONNX for NumPy."""

SAMPLED = frozenset({"reference", "onnxruntime:basic", "onnxruntime:extended", "onnxruntime:layout"})
"""The reference evaluator is 10 to 100 times slower than the runtimes, and the levels between ``disabled`` and ``all``
rarely show what ``all`` does not. They run on a sample, and on every program on which the others disagree."""

TURNS = 3
"""Of very many targets converters and tools take turns: each component runs on one program in so many."""

FAIR = 3
"""Of many targets one may take so many times its equal part of the time, before it runs on fewer programs."""


class TimeParts:
    """Which quick targets have taken more than their part of the time that all of them took together.

    Beside forty others that take milliseconds a converter that takes a tenth of a second would have half of the time.
    Of three targets or fewer none ever has too much, for whoever names them wants them compared.

    Args:
        targets: the quick ones, all of which may run on a program.
    """

    def __init__(self, targets: Sequence[Target]) -> None:
        self._part = FAIR / max(1, len(targets))
        self._spent: Counter[str] = Counter()

    def took(self, runs: Iterable[RunResult]) -> None:
        """Take note of how long targets took in their workers with one program.

        Args:
            runs: of quick targets.
        """
        for result in runs:
            self._spent[result.target.name] += result.seconds  # type: ignore[assignment] - Counter adds up floats

    def within(self, targets: Sequence[Target]) -> tuple[Target, ...]:
        """Those of some targets that have had no more than their part; all of them if fewer than two would be left."""
        most = self._part * self._spent.total()
        kept = tuple(t for t in targets if self._spent[t.name] <= most)
        return kept if len(kept) > 1 else tuple(targets)


def everyday(targets: Sequence[Target]) -> tuple[Target, ...]:
    """The targets that run on each program; all of them if nothing else would be left to compare.

    Args:
        targets: quick ones. Left out are those of ``SAMPLED`` in every version, such as the reference evaluator.
    """
    chosen = tuple(t for t in targets if _plain(t) not in SAMPLED)
    return chosen if len(chosen) > 1 or len(chosen) == len(targets) else tuple(targets)


def _plain(target: Target) -> str:
    """A target's name without its version, if it has a variant; another version of the reference runs each time."""
    variant = target.name.partition(":")[2]
    return f"{target.component}:{variant}" if target.environment and variant else target.name


def in_doubt(targets: Sequence[Target], named: Sequence[str] | None) -> tuple[Target, ...]:
    """The targets that run only if a disagreement lacks a witness: NumPy beside another lowering, unless named.

    It takes several times as long as PyTorch, and can only tell what is wrong if two others differ already.
    """
    asked = any(name.startswith(NUMPY) for name in named or ())
    beside = any(t.component in ONE_READING for t in targets)
    return tuple(t for t in targets if t.component == NUMPY and beside and not asked)


def turn(targets: Sequence[Target], iteration: int, every: int, parts: TimeParts | None = None) -> tuple[Target, ...]:
    """The targets for one iteration.

    Args:
        targets: quick ones.
        iteration: of the job.
        every: in each so many iterations, the first included, all of them run; in others the everyday ones, of which
            converters and tools take turns if the targets are very many.
        parts: if given, of the everyday ones only those that have not had more than their part of the time.
    """
    if iteration % every == 0:
        return tuple(targets)
    chosen = everyday(targets) if parts is None else parts.within(everyday(targets))
    return in_turns(chosen, iteration) if len(targets) > VERY_MANY else chosen


def in_turns(targets: Sequence[Target], iteration: int) -> tuple[Target, ...]:
    """All runtimes, and those converters and tools whose turn it is.

    One program on forty tools shows less than three programs on a third of them, for what one tool gets wrong another
    mostly gets right.

    Args:
        targets: quick ones. All variants of a component have the same turn, and with them comes what they start from.
        iteration: of the job.
    """
    makers = dict.fromkeys(t.component for t in targets if t.role is not TargetRole.RUNTIME)
    chosen = {name for place, name in enumerate(makers) if place % TURNS == iteration % TURNS}
    befores = {t.before for t in targets if t.component in chosen}
    return tuple(
        t for t in targets if t.role is TargetRole.RUNTIME or t.component in chosen or t.name in befores
    )  # fmt: skip


def remaining(targets: Sequence[Target], done: Sequence[Target]) -> tuple[Target, ...]:
    """What has not run yet, in order.

    Args:
        targets: all that might.
        done: those that did; they are compared by name.
    """
    names = {t.name for t in done}
    return tuple(t for t in targets if t.name not in names)
