"""Programs from nothing or from larger ones, and inputs; ``irfuzz.generate`` is ``fresh.generate``."""
