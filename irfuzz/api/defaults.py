"""What calls take if nobody says more; commands show the same numbers in their help, and so import nothing else."""

DRAWN = 8
"""Inputs that a check draws."""

CHECK_TIMEOUT, CHECK_MEMORY = 30.0, 4096
"""Seconds that one target may take with one input of a check, and MiB of its process; large weights get more."""
