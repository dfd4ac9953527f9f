"""irfuzz finds bugs in the software that runs neural networks: models enter, replayable findings leave."""

from __future__ import annotations

__version__ = "0.1.0"
