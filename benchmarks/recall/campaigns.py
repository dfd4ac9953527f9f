"""What ``irfuzz fuzz`` says of a bug's model on the versions with and without it.

The campaign has one program, the bug's own, on the bug's own inputs. Nothing tells it what is wrong with which version.
Slow targets, which so short a campaign leaves out, are asked by ``irfuzz check``.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from irfuzz.execute.target_table import describe, resolve

from .bugs import Bug

WITNESSES = ("reference", "torch:eager", "onnxruntime:disabled")

SECONDS = 120

KINDS = ("findings", "suspects", "unreplayed")
"""Folders of a campaign."""


DISTRIBUTIONS = {"reference": "onnx", "onnx-version-converter": "onnx"}
"""Of components that pip calls otherwise."""


@dataclass(frozen=True, slots=True)
class Told:
    """What was said.

    Attributes:
        verdict: ``firm``; ``wrong place`` if a finding blames the faulty version of something else than the bug;
            ``unreplayed`` if its own script does not show it; ``suspect``, ``silent``, or ``not tried``.
        why: what was named instead, the doubt, or why it was not tried.
        false: titles of findings that blame the fixed version.
        also: titles of findings that blame a witness.
    """

    verdict: str
    why: str = ""
    false: list[str] = field(default_factory=list[str])
    also: list[str] = field(default_factory=list[str])


def build(listed: Sequence[Bug]) -> None:
    """Make the environments that are not there."""
    wanted = {(b.component, v): b.also for b in listed for v in (b.shows, b.fixed) if v}
    for (component, version), also in wanted.items():
        command = [
            sys.executable,
            "-m",
            "irfuzz",
            "env",
            "add",
            f"{DISTRIBUTIONS.get(component, component)}=={version}",
        ]
        subprocess.run([*command, *(part for more in also for part in ("--with", more))], check=False)


def judge(listed: Sequence[Bug], keep: Path | None, file: Path | None) -> int:
    """What irfuzz says of each."""
    found = {}
    with tempfile.TemporaryDirectory() as temporary:
        for bug in listed:
            said = found[bug.name] = told(bug, (keep or Path(temporary)) / bug.name)
            versions = f"{bug.shows} -> {bug.fixed or 'none yet'}"
            print(f"{bug.name:36} {versions:24} {said.verdict:12} {said.why}", flush=True)
            for title in said.false:
                print(f"    blames the fixed version: {title}", flush=True)
            for title in said.also:
                print(f"    also: {title}", flush=True)
    counts = Counter(said.verdict for said in found.values())
    false = sum(bool(said.false) for said in found.values())
    print(f"{counts['firm']} of {len(found)} firm at the right place; {dict(counts)}; {false} blame a fixed version")
    if file:
        file.write_text(json.dumps({name: asdict(said) for name, said in found.items()}, indent=1))
    return int(counts["firm"] < len(found) or false > 0)


def told(bug: Bug, out: Path, seconds: int = SECONDS) -> Told:
    """Run a bug's model as a campaign of one program in a folder that is empty or not there."""
    there = {a.target.name: a.why_not for a in describe()}
    own = {a.target.component: a.target.version for a in describe() if not a.target.environment}
    faulty, fixed = (_plain(bug.targets(v), own) if v else [] for v in (bug.shows, bug.fixed))
    for name in (*faulty, *fixed):
        if why := there.get(name, "no such target"):
            return Told("not tried", f"{name}: {why}")
    witnesses = bug.witnesses or [w for w in WITNESSES if w.partition(":")[0] != bug.component or bug.fixed]
    out.mkdir(parents=True, exist_ok=True)
    asked = [str(_write(bug, out)), "--targets", ",".join(dict.fromkeys([*faulty, *fixed, *witnesses])), "--json"]
    asked += ["--data", str(out / "inputs.npz")] if bug.inputs else []
    if any(target.slow for target in resolve(faulty)):
        return _checked(bug, _ran(["check", *asked, "--time", f"{seconds}s"], seconds))
    short = ("--programs", "1", "--jobs", "1", "--time", f"{seconds}s", "--seed", "1", "--quiet")
    done = _ran(["fuzz", *asked, *short, "--out", str(out / "campaign")], seconds)
    if done.returncode not in (0, 1):
        return Told("not tried", f"exit {done.returncode}: {done.stderr.strip()[-300:]}")
    return _scored(bug, {kind: _read(out, kind) for kind in KINDS}, set(faulty), set(fixed))


def _ran(command: list[str], seconds: int) -> subprocess.CompletedProcess[str]:
    whole = [sys.executable, "-m", "irfuzz", *command]
    return subprocess.run(whole, capture_output=True, text=True, check=False, timeout=3 * seconds)


def _checked(bug: Bug, done: subprocess.CompletedProcess[str]) -> Told:
    if done.returncode not in (0, 1):
        return Told("not tried", f"exit {done.returncode}: {done.stderr.strip()[-300:]}")
    said = json.loads(done.stdout)
    causes = [c for c in said["causes"] if c["component"] == bug.component]
    also = [f"{c['component']}: {c['what']}" for c in said["causes"] if c["component"] != bug.component]
    firm = [c for c in causes if not c["undecided"]]
    places = {r["op"] for located in said["located"] for r in located["replay"] if r["outcome"] == "differs"}
    if firm:
        fits = firm[0]["symptom"] in bug.symptoms and (not places or places & set(bug.operators))
        return Told("firm" if fits else "wrong place", "" if fits else f"{firm[0]['symptom']} in {places}", also=also)
    return Told("suspect" if causes else "silent", causes[0]["what"] if causes else "", also=also)


def _plain(names: list[str], own: dict[str, str]) -> list[str]:
    """A version that irfuzz's own environment has goes by the plain name."""
    plain: list[str] = []
    for name in names:
        component, _, rest = name.partition("@")
        version, colon, variant = rest.partition(":")
        plain.append(f"{component}{colon}{variant}" if version == own.get(component) else name)
    return plain


def _write(bug: Bug, out: Path) -> Path:
    model = out / f"{bug.name}.onnx"
    model.write_bytes(bug.model().SerializeToString())
    if bug.inputs:
        arrays: dict[str, Any] = {name: array[np.newaxis] for name, array in bug.arrays().items()}
        np.savez(out / "inputs.npz", **arrays)
    return model


def _read(out: Path, kind: str) -> list[dict[str, Any]]:
    return [json.loads(p.read_text()) for p in sorted(out.glob(f"campaign/{kind}/*/finding.json"))]


def _scored(bug: Bug, read: dict[str, list[dict[str, Any]]], faulty: set[str], fixed: set[str]) -> Told:
    findings = read["findings"]
    blamed = [f for f in findings if f["target"] in faulty]
    false = [f["title"] for f in findings if f["target"] in fixed or _shows(f, bug.fixed)]
    also = [f["title"] for f in findings if f["target"] not in faulty | fixed]
    misses = [_miss(bug, f) for f in blamed]
    doubted = [f"{f['title']}: {_evidence(f, 'suspect')}" for f in read["suspects"] if f["target"] in faulty]
    if "" in misses:
        return Told("firm", "", false, also)
    if misses:
        return Told("wrong place", misses[0], false, also)
    for finding in read["unreplayed"]:
        if finding["target"] in faulty:
            return Told("unreplayed", finding["title"], false, also)
    if doubted:
        return Told("suspect", doubted[0], false, also)
    return Told("silent", "", false, also)


def _shows(finding: dict[str, Any], version: str) -> bool:
    return any(s["version"].partition("+")[0] == version and s["shows"] for s in finding.get("shown", []))


def _miss(bug: Bug, finding: dict[str, Any]) -> str:
    """What a finding that blames the faulty version has wrong; empty if nothing."""
    title, passes = finding["title"], set(re.split(r" [+/] ", _evidence(finding, "pass"))) - {""}
    if finding["symptom"] not in bug.symptoms:
        return f"{finding['symptom']}: {title}"
    if not set(bug.operators) & set(re.findall(r"\w+", title)):
        return f"names no {' or '.join(bug.operators)}: {title}"
    if bug.passes and not passes & set(bug.passes):
        instead = ", ".join(sorted(passes)) or _evidence(finding, "place") or "no pass"
        return f"blames {instead}, not {bug.passes[0]}: {title}"
    return ""


def _evidence(finding: dict[str, Any], what: str) -> str:
    return str(finding["verdict"]["evidence"].get(what, ""))
