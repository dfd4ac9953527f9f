"""What mutation counts as new (``irfuzz.mutate.novelty``), under the name that searches use."""

from __future__ import annotations

from irfuzz.mutate.novelty import Feature, Seen, features

__all__ = ["Feature", "Seen", "features"]
