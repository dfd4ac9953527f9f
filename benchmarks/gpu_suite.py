"""Runs what needs a GPU, from what this Python has: the tests marked ``gpu``, and a campaign on all targets there.

    python -m benchmarks.gpu_suite --minutes 10 --out gpu-results

Nothing is installed. Targets that cannot be used are named with the reason. Exit code: 0 if all tests that ran passed,
1 if one failed or the campaign broke, 2 if there is nothing to run. Run it in the checkout (docs/gpu.md).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NEEDED = ("numpy", "onnx", "onnx_ir", "ml_dtypes", "sqlalchemy", "rich", "markdown_it")
"""Packages that irfuzz imports, whatever the targets."""
BUILT = ("irfuzz._native", "irfuzz._cloning")
TESTING = ("pytest", "hypothesis", "pytest_timeout")
WITNESSES = ("reference", "numpy:eager", "onnxruntime:disabled", "torch:eager")
"""Those on the processor that the campaign holds the others against, as far as they are there."""


def lacking(names: tuple[str, ...]) -> list[str]:
    """Those of some packages that cannot be imported here."""
    return [name for name in names if importlib.util.find_spec(name) is None]


def gpus() -> list[str]:
    """Name, driver and memory of each GPU, as nvidia-smi says; empty if that is not there."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
    except (OSError, subprocess.SubprocessError):
        return []


def listed() -> list[dict[str, Any]]:
    """The rows of ``irfuzz targets --json``, of this environment."""
    command = [sys.executable, "-m", "irfuzz", "targets", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [row for row in json.loads(done.stdout) if row["environment"] is None]


def tested(out: Path) -> dict[str, Any]:
    """What became of the tests marked ``gpu``."""
    absent = lacking(TESTING)
    if absent:
        print(f"tests: left out, {', '.join(absent)} cannot be imported")
        return {"left out": absent}
    report = out / "tests.txt"
    # Later options win: xdist, if it is there, would share the device among processes.
    command = [sys.executable, "-m", "pytest", "-m", "gpu", "-rs", "-v", "tests/execute/test_gpu_targets.py"]
    started = time.monotonic()
    with report.open("w") as file:
        code = subprocess.run(command, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT, check=False).returncode
    lines = report.read_text().splitlines()
    print(f"tests: {lines[-1].strip('= ') if lines else 'nothing was printed'}; all in {report}")
    return {"exit": code, "seconds": round(time.monotonic() - started), "last line": lines[-1:]}


def campaign(names: list[str], minutes: float, jobs: int, out: Path) -> dict[str, Any]:
    """What a campaign on some targets saw, as ``irfuzz fuzz --json`` says."""
    findings = out / "findings"
    words = ["fuzz", str(ROOT / "seeds"), "--targets", ",".join(names), "--time", f"{minutes * 60:.0f}s"]
    words += ["--jobs", str(jobs), "--slow-share", "0.5", "--out", str(findings), "--json"]
    command = [sys.executable, "-m", "irfuzz", *words]
    print(f"campaign: {' '.join(command[1:])}", flush=True)
    with (out / "campaign.txt").open("w") as file:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=file, text=True, check=False)
    (out / "campaign.json").write_text(done.stdout)
    found = sorted(path.parent.name for path in findings.glob("*/finding.json"))
    print(f"campaign: exit {done.returncode}, {len(found)} findings in {findings}; summary: {out}/campaign.json")
    return {"exit": done.returncode, "targets": names, "minutes": minutes, "findings": found}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long the campaign is; 0 for none")
    parser.add_argument("--jobs", type=int, default=2, help="of the campaign; each holds a context per target")
    parser.add_argument("--out", type=Path, default=Path("gpu-results"), help="folder for what is seen")
    args = parser.parse_args()
    absent = lacking(NEEDED)
    if absent or lacking(("irfuzz",)) or lacking(BUILT):
        print(f"irfuzz cannot run here: {', '.join(absent) or 'it is not built'}; run `pip install -e .` in {ROOT}")
        return 2
    rows = listed()
    there = [row for row in rows if row["device"] != "cpu"]
    for row in there:
        print(f"{row['name']:<28} {row['version'] or '-':<14} {row['why_not'] or 'ready'}")
    ready = [row["name"] for row in there if row["usable"]]
    if not ready:
        print("no target on a GPU can be used here, so there is nothing to run")
        return 2
    args.out.mkdir(parents=True, exist_ok=True)
    seen: dict[str, Any] = {"gpus": gpus(), "python": platform.python_version(), "processors": os.cpu_count()}
    seen["targets"] = [{key: row[key] for key in ("name", "version", "why_not")} for row in there]
    seen["tests"] = tested(args.out)
    beside = [row["name"] for row in rows if row["usable"] and row["name"] in WITNESSES]
    if args.minutes > 0:
        seen["campaign"] = campaign([*beside, *ready], args.minutes, args.jobs, args.out)
    (args.out / "gpu_suite.json").write_text(json.dumps(seen, indent=1) + "\n")
    broken = seen.get("campaign", {}).get("exit", 0) not in (0, 1)
    return int(seen["tests"].get("exit", 0) not in (0, 5) or broken)


if __name__ == "__main__":
    sys.exit(main())
