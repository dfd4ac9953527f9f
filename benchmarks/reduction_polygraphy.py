"""What ``polygraphy debug reduce`` makes of findings that ``benchmarks.reduction --keep`` reduced.

Polygraphy reduces by halves and then node by node, each of its candidates judged as irfuzz judges its own, with
the values that onnx's evaluator gives where a candidate begins in the middle. Findings that are in the ``--json`` file
are not reduced again. Polygraphy needs an environment of its own: ``python -m venv pg; pg/bin/pip install polygraphy
onnx onnxruntime onnx-graphsurgeon sympy``.

Run ``python -m benchmarks.reduction_polygraphy KEPT --polygraphy pg/bin/polygraphy [-n 10] [--json FILE]``; exit code 1
where irfuzz's result is the larger one of any finding.
"""

from __future__ import annotations

import argparse
import json
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import onnx

from benchmarks.reduction import TWISTED, WITNESSES
from irfuzz.errors import InvalidProgram
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.findings.fault_predicate import FaultPredicate
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.oracle.verdict import Verdict
from irfuzz.store.npz_tensors import unpack

ASK = """
import socket, sys
line = socket.socket(socket.AF_UNIX)
line.connect(sys.argv[1])
line.sendall(sys.argv[2].encode() + b"\\n")
sys.exit(int(line.recv(1) == b"1"))
"""
"""The check that Polygraphy runs; the candidate is judged by this process, whose workers live on."""


def compare(folder: Path, polygraphy: str, seconds: float) -> dict[str, Any]:
    """Nodes, candidates and seconds of one finding."""
    program = Program.from_bytes((folder / "original.onnx").read_bytes())
    inputs = unpack((folder / "inputs.npz").read_bytes())
    with Runner(resolve([f"{TWISTED}:{folder.name[4:]}", *WITNESSES]), Limits(seconds=20)) as runner:
        blamed = runner.targets[0].name
        look = FaultPredicate([runner], Verdict("", "", blamed), program)  # type: ignore[arg-type]
        verdict = next(v for v in look.judged(program, inputs)[0] if v.target == blamed and not v.suspect)
        watch = FaultPredicate([runner], verdict, program)
        values = {**watch.values_of(program, inputs), **inputs}
        asked = 0

        def fails(path: str) -> bool:
            nonlocal asked
            asked += 1
            try:
                candidate = Program.from_bytes(Path(path).read_bytes())
            except InvalidProgram:
                return False
            names = [v.name or "" for v in candidate.graph.inputs]
            return all(n in values for n in names) and watch.still(candidate, {n: values[n] for n in names})

        start = time.monotonic()
        nodes = _both_modes(folder / "original.onnx", polygraphy, fails, start + seconds)
        took = time.monotonic() - start
    ours = len(onnx.load(folder / "reduced.onnx").graph.node)
    return {
        "finding": folder.name, "before": len(program.graph), "polygraphy": nodes, "irfuzz": ours,
        "candidates": asked, "seconds": round(took, 1),
    }  # fmt: skip


def _both_modes(model: Path, polygraphy: str, fails: Any, deadline: float) -> int | None:
    """Nodes of what halving and then single steps leave; ``None`` where it gives nothing that shows the fault."""
    with tempfile.TemporaryDirectory() as place:
        door = f"{place}/door"
        Path(place, "ask.py").write_text(ASK)  # Polygraphy gives the words to a shell, unquoted
        server = socket.socket(socket.AF_UNIX)
        server.bind(door)
        server.listen()
        threading.Thread(target=_answer, args=(server, fails), daemon=True).start()
        best: Path | None = None
        for mode in ("bisect", "linear"):
            made = Path(place, f"{mode}.onnx")
            check = [sys.executable, "-S", "-E", f"{place}/ask.py", door, f"{place}/polygraphy_debug.onnx"]
            words = [polygraphy, "debug", "reduce", str(best or model), "-o", str(made), "--mode", mode, "--silent"]
            try:
                left = max(deadline - time.monotonic(), 1)
                subprocess.run([*words, "--check", *check], cwd=place, check=False, timeout=left, capture_output=True)
            except subprocess.TimeoutExpired:
                break
            if made.exists() and fails(str(made)):
                best = made
        server.close()
        return None if best is None else len(onnx.load(best).graph.node)


def _answer(server: socket.socket, fails: Any) -> None:
    while True:
        try:
            line, _ = server.accept()
        except OSError:
            return
        with line, line.makefile("r") as words:
            line.sendall(b"1" if fails(words.readline().strip()) else b"0")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kept", type=Path, help="folder of benchmarks.reduction --keep")
    parser.add_argument("--polygraphy", default="polygraphy")
    parser.add_argument("-n", type=int, default=10, help="findings, evenly chosen (default: 10)")
    parser.add_argument("--seconds", type=float, default=240.0, help="most for one finding (default: 240)")
    parser.add_argument("--json", type=Path, help="results, read again by the next call")
    args = parser.parse_args()
    rows: list[dict[str, Any]] = json.loads(args.json.read_text()) if args.json and args.json.exists() else []
    folders = sorted(p for p in args.kept.iterdir() if p.is_dir())
    for folder in folders[:: max(1, len(folders) // args.n)][: args.n]:
        if all(row["finding"] != folder.name for row in rows):
            rows.append(compare(folder, args.polygraphy, args.seconds))
            print(json.dumps(rows[-1]), flush=True)
            if args.json:
                args.json.write_text(json.dumps(rows, indent=1) + "\n")
    larger = [r["finding"] for r in rows if r["polygraphy"] is not None and r["irfuzz"] > r["polygraphy"]]
    print(f"{len(rows)} findings; irfuzz's result is larger in {larger or 'none'}")
    return int(bool(larger))


if __name__ == "__main__":
    sys.exit(main())
