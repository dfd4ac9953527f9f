"""The size of a round of forms, the time at which rounds end, and the callback for progress."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

ROUND = 8
"""Forms that run together."""


@dataclass(slots=True)
class RoundTiming:
    """The time of a test of several models.

    Attributes:
        until: by ``time.monotonic``; no round of forms begins after it.
        progress: is told how many forms of a model are done, of how many.
        over: the time was over before all forms were made.
    """

    until: float = math.inf
    progress: Callable[[int, int], None] = lambda done, all_of: None
    over: bool = False

    def rounds(self, forms: int) -> Iterator[range]:
        """Places of the forms that run together; fewer if the time that is left does not seem to do for more."""
        place, dearest = 0, 0.0
        while place < forms and not self.ends():
            self.progress(place, forms)
            began = time.monotonic()
            size = min(ROUND, forms - place)
            if dearest and self.until < math.inf:
                size = max(1, min(size, int((self.until - began) / dearest)))
            yield range(place, place + size)
            place += size
            dearest = max(dearest, (time.monotonic() - began) / size)

    def ends(self) -> bool:
        """Whether the time is over, though there is more to do."""
        self.over = self.over or time.monotonic() >= self.until
        return self.over
