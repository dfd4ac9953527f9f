"""How many programs, drawn as campaigns draw them, contain each bug's trigger."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.drawn_bugs import programs
from irfuzz.campaign.config import usual_sprouts

from .bugs import Bug
from .triggers import TRIGGERS, Drawn, triggered

MISSING = 2
"""So many triggers of a half may be missing."""

TARGETS = 4
"""So many targets make programs that grow from one node as usual as they are by default."""

NEWEST = 24
"""Highest opset that is drawn: the newest versions take it."""


def holders(amount: int, seed: int) -> tuple[Counter[str], int]:
    """In how many programs each trigger stands, and how many programs there are."""
    held: Counter[str] = Counter()
    seen = 0
    for program, inputs in programs(amount, seed, usual_sprouts(TARGETS), max_opset=NEWEST):
        graph = program.model.graph
        outputs = frozenset(v.name or "" for v in graph.outputs)
        drawn = Drawn(program.model.opset_imports.get("", 0), inputs, outputs)
        held.update({name for node in program.nodes() for name in triggered(node, drawn)})
        seen += 1
    return held, seen


def count(listed: Sequence[Bug], amount: int, seed: int, file: Path | None) -> int:
    """Print how often the triggers of these bugs are drawn."""
    began = time.process_time()
    held, seen = holders(amount, seed)
    names = [b.name for b in listed if b.name in TRIGGERS]
    for name in sorted(names, key=lambda n: held[n]):
        print(f"{name:40} {held[name]:7} {1000 * held[name] / max(1, seen):8.2f} a thousand", flush=True)
    missing = [name for name in names if not held[name]]
    print(
        f"{len(missing)} of {len(names)} triggers missing in {seen} programs "
        f"({time.process_time() - began:.0f} s of CPU): {', '.join(missing) or 'none'}"
    )
    if file:
        file.write_text(json.dumps({"programs": seen, "held": {n: held[n] for n in names}}, indent=1))
    return int(len(missing) > MISSING)
