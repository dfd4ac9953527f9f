"""Lets bytes steer every draw; when they end, each draw is its least value."""

from __future__ import annotations

import random

from irfuzz.choices import Choices


class ByteRandom(random.Random):
    """The draws that ``Choices`` makes, read from bytes one after the other, as FuzzedDataProvider does.

    A draw takes as many bytes as its range needs and no more, so that a small change of the bytes is a small change
    of what is drawn: the draws before it stay as they are.
    """

    def __init__(self, data: bytes) -> None:
        super().__init__(0)
        self._data = data
        self._place = 0

    def randint(self, a: int, b: int) -> int:
        """An integer in ``[a, b]``; ``a`` if no bytes are left.

        It takes no more bytes than the width of the range needs, so that a changed byte changes few draws.
        """
        count = b - a + 1
        return a + self._number((count - 1).bit_length() + 7 >> 3) % count

    def uniform(self, a: float, b: float) -> float:
        """A float in ``[a, b]``, both ends included, from the next four bytes."""
        return a + (b - a) * self._number(4) / 0xFFFFFFFF

    def random(self) -> float:
        """A float in ``[0, 1)``, of two bytes: what choices by weight take."""
        return self._number(2) / 0x10000

    def _number(self, size: int) -> int:
        data = self._data[self._place : self._place + size]
        self._place += size
        return int.from_bytes(data, "little")


def choices_from(data: bytes) -> Choices:
    """Choices whose every draw comes from ``data``; equal bytes give equal draws in every process.

    Args:
        data: any bytes. Once they are used up each draw gives its least value.
    """
    return Choices(ByteRandom(data))
