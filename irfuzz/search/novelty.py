"""What mutation counts as new (``irfuzz.mutate.feature_counts``), under the name that searches use."""

from __future__ import annotations

from irfuzz.mutate.feature_counts import Feature, FeatureCounts, features

__all__ = ["Feature", "FeatureCounts", "features"]
