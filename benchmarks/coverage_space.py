"""Writes the space of coverage anew after the specs have changed: ``python -m benchmarks.coverage_space``."""

from __future__ import annotations

from irfuzz.search.coverage.space import SPACE, compute
from irfuzz.spec import load_specs


def main() -> None:
    space = compute(load_specs())
    SPACE.write_text(space.to_json(), encoding="utf-8")
    print(f"{SPACE.name}: {len(space.operators)} operators, {space.totals()}")


if __name__ == "__main__":
    main()
