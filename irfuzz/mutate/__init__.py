"""A program and recorded choices enter, a valid mutant and its trace leave; ``irfuzz.mutate`` is ``api.mutate``."""
