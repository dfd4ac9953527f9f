"""Which targets run on which program: all of them on a sample, the quick and telling ones on each."""

from __future__ import annotations

from collections.abc import Sequence

from irfuzz.execute.run_types import Target
from irfuzz.oracle.witnesses import ONE_READING

NUMPY = "numpy"
"""The component that computes with irfuzz's own reading of ONNX for NumPy."""

SAMPLED = frozenset({"reference", "onnxruntime:basic", "onnxruntime:extended", "onnxruntime:layout"})
"""The reference evaluator is 10 to 100 times slower than the runtimes, and the levels between ``disabled`` and ``all``
rarely show what ``all`` does not. They run on a sample, and on every program on which the others disagree."""


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


def turn(targets: Sequence[Target], iteration: int, every: int) -> tuple[Target, ...]:
    """The targets for one iteration.

    Args:
        targets: quick ones.
        iteration: of the job.
        every: in each so many iterations, the first included, all of them run; in others the everyday ones.
    """
    return tuple(targets) if iteration % every == 0 else everyday(targets)


def remaining(targets: Sequence[Target], done: Sequence[Target]) -> tuple[Target, ...]:
    """What has not run yet, in order.

    Args:
        targets: all that might.
        done: those that did; they are compared by name.
    """
    names = {t.name for t in done}
    return tuple(t for t in targets if t.name not in names)
