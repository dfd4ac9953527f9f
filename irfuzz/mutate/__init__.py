"""Mutates programs: valid mutants by recorded choices, each with a trace; ``irfuzz.mutate`` is ``api.mutate``."""
