"""What calls take if nobody says more; commands show the same numbers in their help, and so import nothing else."""

DRAWN = 8
"""Inputs that a check draws."""

CHECK_TIMEOUT, CHECK_MEMORY = 30.0, 4096
"""Seconds that one target may take with one input of a check, and MiB of its process; large weights get more."""

FUZZ_MEMORY = 4096
"""MiB that a worker of a campaign may take beyond its framework; large weights get more."""

FUZZ_SEARCH, FUZZ_HUNT = "thompson", "both"
"""What chooses parents and mutators, and what inputs are steered to."""

FUZZ_SLOW_SHARE, FUZZ_SHORT = 0.25, 300.0
"""Share of slow targets; in less than so many seconds they would hardly have started, so they get none."""

FUZZ_PROBE, FUZZ_PROBE_SHARE, FUZZ_PROBE_LONGEST = 600.0, 0.2, 0.5
"""Seconds that a campaign which learns what targets refuse may ask them before, and the share of its time; and the
share until each operator was asked for once, which takes seconds, but not on a machine that has other things to do."""

CONFORM_SLOW_SAMPLE = 300
"""Cases of conformance that a slow target runs: all of them would take it hours."""
