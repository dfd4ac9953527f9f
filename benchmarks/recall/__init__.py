"""Bugs from trackers on which irfuzz was not built: how many are reported, at the right place, and drawn at all."""
