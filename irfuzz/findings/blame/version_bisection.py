"""Finds the release that brought a fault and the one that mended it, by asking as few releases as it takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

SKIPS = 2
"""Releases in a row of which nothing can be told before the older ones count as beyond reach."""

Ask = Callable[[str], bool | None]
"""Whether a release shows the fault; ``None`` if that cannot be told."""


def narrowed(releases: Sequence[str], known: Mapping[str, bool | None], ask: Ask) -> dict[str, bool | None]:
    """Answers of enough releases to say in which the fault came and in which it went.

    A fault is taken to come once and to go once: between a release that shows it and one that does not, the middle is
    asked until the two are neighbours. Ends are asked first: the newest release, and the oldest if none before the
    first that shows it is known not to.

    Args:
        releases: oldest first.
        known: answers so far, one of which is that a release shows it.
        ask: about a release without an answer.

    Returns:
        All answers, those of ``known`` included.
    """
    answers = dict(known)

    def told(index: int) -> bool | None:
        version = releases[index]
        if version not in answers:
            answers[version] = ask(version)
        return answers[version]

    shown = [i for i, v in enumerate(releases) if answers.get(v)]
    if not shown:
        return answers
    told(len(releases) - 1)
    without = [i for i, v in enumerate(releases) if answers.get(v) is False]
    before = max((i for i in without if i < shown[0]), default=None)
    if before is not None or not told(0):
        _narrow(shown[0], before or 0, told)
    shown = [i for i, v in enumerate(releases) if answers.get(v)]
    after = min((i for i in without if i > shown[-1]), default=None)
    if after is not None:
        _narrow(shown[-1], after, told)
    return answers


def _narrow(shows: int, lacks: int, told: Callable[[int], bool | None]) -> None:
    """Ask between a release that shows it and one that does not, or of which nothing can be told, until they meet."""
    skipped: set[int] = set()
    while True:
        open_ = [i for i in range(min(shows, lacks) + 1, max(shows, lacks)) if i not in skipped]
        if not open_:
            return
        middle = open_[len(open_) // 2]
        answer = told(middle)
        if answer is None and len(skipped) < SKIPS:
            skipped.add(middle)
        elif answer:
            shows, skipped = middle, set()
        else:
            lacks, skipped = middle, set()
