"""How often spec, reference evaluator, ONNXRuntime and our PyTorch lowering agree on calls.

Draws valid calls of every operator that has an overlay, perturbs each by one (size, rank, attribute, element type,
presence, value), and compares what the spec says with what the components accept. The classes are described in
docs/census.md, whose table ``--write`` makes anew (with ``--ops``, the rows of these operators).

Run ``python -m benchmarks.census [-n 6] [--most 80] [--ops Conv,Pad] [--opsets 17,26] [--json FILE] [--write]`` from
the repository's root. The exit code is 1 where a call is under-refused or more than 2% are over-refused.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from irfuzz.spec import load_specs
from tests.spec.census import run
from tests.spec.census.table import DOCUMENT, document, failures, rows, summary, table

SHOWN = ("under-refused", "over-refused", "numbers differ", "died", "partly refused")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=6, help="valid calls of each operator version")
    parser.add_argument("--most", type=int, default=80, help="neighbours of each call (0: all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ops", default="", help="comma-separated; all where omitted")
    parser.add_argument("--opsets", default=",".join(map(str, run.OPSETS)))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--show", default="under-refused,over-refused", help=f"classes to list calls of: {SHOWN}")
    parser.add_argument("--examples", type=int, default=6, help="calls to list of each class and operator version")
    parser.add_argument("--write", action="store_true", help=f"write {DOCUMENT.name}")
    a = parser.parse_args()
    opsets = [int(o) for o in a.opsets.split(",")]
    ops = [o for o in a.ops.split(",") if o]
    specs = load_specs()
    total = len(run.versions(specs, opsets, ops))
    began = time.monotonic()
    done = 0

    def progress(record: run.Census) -> None:
        nonlocal done
        done += 1
        print(f"[{done}/{total} {time.monotonic() - began:4.0f} s] {summary(record)}", file=sys.stderr, flush=True)

    with run.open_runner() as runner:
        records = run.census(runner, specs, a.n, a.seed, most=a.most, opsets=opsets, ops=ops, progress=progress)
        components = {t.component: t.version for t in runner.targets}
    seconds = time.monotonic() - began
    for record in records:
        for name in a.show.split(","):
            for example in record.examples.get(name, [])[: a.examples]:
                print(f"{record.op}-{record.since} {name}: {example['where']}: {example['call']}")
                print(f"    spec: {example['spec'] or 'valid'}\n    {example['answers']}")
    print(table(rows(records)))
    if a.json:
        content = {
            "seed": a.seed,
            "n": a.n,
            "most": a.most,
            "opsets": opsets,
            "components": components,
            "seconds": round(seconds, 1),
            "versions": [r.plain() for r in records],
        }
        a.json.write_text(json.dumps(content, indent=1) + "\n")
    if a.write:
        command = f"python -m benchmarks.census -n {a.n} --most {a.most} --seed {a.seed} --write"
        DOCUMENT.write_text(document(records, components, command, only=bool(ops)), encoding="utf-8")
    wrong = failures(records)
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
