"""Which graph transformers and rewrite rules of an ONNXRuntime the programs of a whole campaign fire.

A campaign (``irfuzz fuzz``) runs the shipped seeds on the reference evaluator, on one version of ONNXRuntime without
and with all optimisation, and on PyTorch. Then every pass that the version registers, as the library names them, is
listed: what is left out for a reason (``irfuzz/execute/onnxruntime_passes.toml``, ``excluded``), what fired, with the
file of the first program that fired it, and what did not.

Run ``python -m benchmarks.pass_campaigns VERSION [--seconds 1200] [--out FOLDER] [--seed 1]``; a version that is not
installed beside irfuzz needs its environment (``irfuzz env add onnxruntime==VERSION``). It exits 1 if more than 15% of
the passes are left out, or fewer than 90% of the others fired.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from irfuzz.campaign.config import Layout
from irfuzz.campaign.monitoring.coverage_across_jobs import passes_of
from irfuzz.execute.onnxruntime_passes import excluded, registered, rules
from irfuzz.execute.runner import Runner
from irfuzz.store.database import Database

MOST_EXCLUDED, FIRED = 0.15, 0.9

SEEDS = Path(__file__).parents[1] / "seeds"


def fuzz(version: str, out: Path, seconds: int, seed: int) -> None:
    """Run the campaign; neither findings nor single faults of irfuzz itself, which it tells of, end it."""
    plain = f"onnxruntime@{version}"
    targets = f"reference,{plain}:disabled,{plain}:all,torch:eager"
    command = [sys.executable, "-m", "irfuzz", "fuzz", str(SEEDS), "--targets", targets, "--time", f"{seconds}s"]
    done = subprocess.run([*command, "--seed", str(seed), "--out", str(out)], stdout=sys.stderr, check=False)
    if done.returncode not in (0, 1, 3):
        raise SystemExit(done.returncode)


def table(version: str, out: Path) -> dict[str, Any]:
    """What the campaign fired of what the version registers; a program for each pass goes to ``out/passes``."""
    with Runner([f"onnxruntime@{version}:all"]) as runner:
        names = registered(runner, runner.targets[0])
    names = tuple(name for name in names if name not in rules())
    database = Database(Layout(out).database)
    found = passes_of(database).fired().get(f"onnxruntime {version}", {})
    folder = out / "passes"
    folder.mkdir(exist_ok=True)
    fired: dict[str, str] = {}
    for name in names:
        if name in found:
            path = folder / f"{name}.onnx"
            row = database.program(found[name])
            seed = lambda digest: database.program(digest).model  # noqa: E731
            program = database.programs.read(row.model, lambda name=name: _lost(name), seed)
            path.write_bytes(program.to_bytes())
            fired[name] = str(path)
    out_of_reach = {name: why for name, why in excluded().items() if name in names}
    return {
        "version": version,
        "programs": sum(programs for _, _, programs, _ in database.tallies()),
        "registered": names,
        "excluded": out_of_reach,
        "fired": fired,
        "missing": [name for name in names if name not in out_of_reach and name not in fired],
        "fired although excluded": [name for name in out_of_reach if name in fired],
    }


def _lost(name: str) -> Any:
    raise SystemExit(f"{name}: the program that fired it has large weights that are not stored")


def passed(row: Mapping[str, Any]) -> bool:
    """Whether few enough are left out, and enough of the others fired."""
    names, left_out = len(row["registered"]), len(row["excluded"])
    wanted = names - left_out
    return left_out <= MOST_EXCLUDED * names and wanted - len(row["missing"]) >= FIRED * wanted


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version")
    parser.add_argument("--seconds", type=int, default=1200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="folder of the campaign; one that exists is read")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    out = args.out or Path(tempfile.mkdtemp(prefix="irfuzz-passes-"))
    if not Layout(out).database.exists():
        fuzz(args.version, out, args.seconds, args.seed)
    row = table(args.version, out)
    if args.json:
        print(json.dumps(row, indent=1))
        return 0 if passed(row) else 1
    many, left_out = len(row["registered"]), len(row["excluded"])
    wanted = many - left_out
    print(f"onnxruntime {args.version}: {many} passes, {left_out} excluded ({left_out / many:.1%}),", end=" ")
    print(f"{wanted - len(row['missing'])} of {wanted} fired in {row['programs']} programs")
    for name in row["registered"]:
        told = row["fired"].get(name, "") or (f"excluded: {row['excluded'][name]}" if name in row["excluded"] else "-")
        print(f"  {name:<44}{told}")
    print(f"missing: {', '.join(row['missing']) or 'none'}")
    return 0 if passed(row) else 1


if __name__ == "__main__":
    sys.exit(main())
