"""Every seed through every converter and tool, judged beside the runtimes; the table of those that do not go through.

    python benchmarks/converters.py [--targets converters,tools] [--seeds lenet5,gru] [--json FILE] [--markdown FILE]

Exit code 1 where a target was neither right nor refused in words nor is the difference a verdict of its own.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from irfuzz.execute.run_types import Exit, TargetRole
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.oracle import judge

SEEDS = Path(__file__).resolve().parents[1] / "seeds"
BESIDE = ["reference", "onnxruntime:disabled", "onnxruntime:all", "torch:eager", "tensorflow:eager"]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--targets", default="converters,tools")
    parser.add_argument("--seeds", default="")
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    args = parser.parse_args()
    entries = tomllib.loads((SEEDS / "index.toml").read_text(encoding="utf-8"))["seeds"]
    wanted = args.seeds.split(",") if args.seeds else [e["name"] for e in entries]
    rows: list[dict[str, Any]] = []
    counts: Counter[tuple[str, str]] = Counter()
    with Runner(resolve([*BESIDE, *args.targets.split(",")]), Limits(seconds=args.seconds)) as runner:
        for name in wanted:
            rows += one(runner, name, counts)
            print(f"{name}: {sum(r['seed'] == name for r in rows)} do not go through", flush=True)
    for target in dict.fromkeys(t for t, _ in counts):
        print(f"{target:<32} { {e: n for (t, e), n in counts.items() if t == target} }")
    if args.json:
        args.json.write_text(json.dumps({"rows": rows, "counts": [[*k, n] for k, n in counts.items()]}, indent=1))
    if args.markdown:
        args.markdown.write_text(table(rows))
    return int(any(not row["verdict"] and row["exit"] not in ("ok", "unsupported") for row in rows))


def one(runner: Runner, name: str, counts: Counter[tuple[str, str]]) -> list[dict[str, Any]]:
    """What of a seed's runs is worth a line."""
    program = Program.from_bytes((SEEDS / f"{name}.onnx").read_bytes())
    inputs = make_inputs(program, 1)
    results = runner.run(program, inputs)
    verdicts = judge(program, inputs, results, rerun=lambda x, p=None: runner.run(p or program, x))
    told = {t: v for v in reversed(verdicts) for t in [v.target, *str(v.evidence.get("also", "")).split(", ")] if t}
    rows = []
    for result in results:
        if result.target.role is TargetRole.RUNTIME:
            continue
        verdict = told.get(result.target.name)
        counts[result.target.name, str(verdict.symptom if verdict and result.exit is Exit.OK else result.exit)] += 1
        if verdict is None and result.exit is Exit.OK:
            continue
        rows.append({
            "seed": name,
            "target": result.target.name,
            "stage": str(result.stage),
            "exit": str(result.exit),
            "error": result.error,
            "verdict": "" if verdict is None else f"{verdict.symptom}{', suspect' if verdict.suspect else ''}",
        })  # fmt: skip
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Lines of a Markdown table, alike ones as one."""
    alike: dict[tuple[str, str, str, str], list[str]] = {}
    for row in rows:
        said = row["error"].split(": ", 1)[-1] if "onnxruntime without" not in row["error"] else row["error"]
        key = (row["target"], f"{row['exit']} ({row['stage']})", row["verdict"] or "-", said[:110].replace("|", "/"))
        alike.setdefault(key, []).append(row["seed"])
    lines = ["| Target | End | Verdict | What it says | Seeds |", "|---|---|---|---|---|"]
    lines += [f"| `{t}` | {e} | {v} | {s} | {', '.join(n)} |" for (t, e, v, s), n in sorted(alike.items())]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
