"""Finds what brought a fault: the optimiser passes that make it, and the releases of a component that show it.

The program stays as it is; only passes are left out, or another release runs it. An answer that cannot be had is
`None`, never a guess.

Passes: `pass_bisection` has the search, `blamed_passes` runs it and puts the result into the verdict. Releases:
`version_bisection` has the search, `affected_versions` asks the installed ones, `introduced_fixed_releases` puts into
words when a fault came and went.

The two searches are pure functions of a callback that runs something, so their tests need no target. Symptoms and
tools that are looked into are tables in `blamed_passes`; the names of a component's passes come from
`irfuzz/execute/onnxruntime_passes.py`. Do not blame a pass for a fault that shows without it.
"""
