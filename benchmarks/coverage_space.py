"""Writes the spaces of coverage anew after the specs have changed: ``python -m benchmarks.coverage_space``."""

from __future__ import annotations

from irfuzz.search.coverage.coverable_call_space import OLDEST, SPACES, load, spelled_out
from irfuzz.spec import load_specs


def main() -> None:
    specs = load_specs()
    SPACES.write_text(spelled_out(specs), encoding="utf-8")
    for opset in range(OLDEST, specs.newest("") + 1):
        space = load(opset)
        print(f"opset {opset}: {len(space.operators)} operators, {space.totals()}")


if __name__ == "__main__":
    main()
