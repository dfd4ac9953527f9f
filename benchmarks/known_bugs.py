"""Ten faults of released versions enter as small models; whether each shows, and what is blamed, leaves as a table.

For each fault a campaign of one program runs the model on the version that has it, on the one that has not, and on
witnesses, as ``irfuzz fuzz`` does: what is looked at is the finding that it writes. A fault counts as shown where a
finding blames the component and version that has it, with the symptom and the operators that stand below, and says
that the fixed version does not show it.

Environments must be there (``--build`` makes them): ``irfuzz env add onnxruntime==1.29.0`` and so on.

Run ``python benchmarks/known_bugs.py [--build] [--only NAME ...] [--json FILE]``; exit code 1 where one that could be
tried is not shown. ``--score FOLDER ...`` runs nothing and says which faults campaigns found, and
``--targets`` prints what they compare: ``irfuzz fuzz seeds --time 20m --jobs 2 --out FOLDER --targets ...``.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from onnx import parser

from irfuzz.execute.table import describe


@dataclass(frozen=True)
class Fault:
    """One fault.

    Attributes:
        name: short.
        component: as targets call it.
        distribution: what ``irfuzz env add`` is given, with the versions.
        shows: version that has it.
        fixed: version that has not; empty where none is known.
        symptoms: any of which the finding may have.
        operators: that the finding must name, all of them.
        graph: of the model, in ONNX's text syntax.
        variants: of the component's targets.
        witnesses: other targets.
        opset: of the model.
        also: what else pip needs for the environment.
    """

    name: str
    component: str
    distribution: str
    shows: str
    fixed: str
    symptoms: tuple[str, ...]
    operators: tuple[str, ...]
    graph: str
    variants: tuple[str, ...] = ("",)
    witnesses: tuple[str, ...] = ("reference", "torch:eager", "onnxruntime:disabled")
    opset: int = 17
    also: tuple[str, ...] = field(default=())

    def targets(self, version: str) -> list[str]:
        """The component's targets in a version."""
        return [f"{self.component}@{version}{f':{v}' if v else ''}" for v in self.variants]


_LEVELS = ("disabled", "all")
_TORCH = ("torch==2.13.0", "torchvision==0.28.0")

FAULTS = (
    Fault(
        "transpose-gemm",
        "onnxruntime",
        "onnxruntime",
        "1.29.0",
        "1.30.0",
        ("difference",),
        ("Transpose", "Gemm"),
        "g (float[3,3] x, float[3,3] w) => (float[3,3] y) { t = Transpose <perm = [0, 1]> (x) y = Gemm (t, w) }",
        _LEVELS,
    ),
    Fault(
        "pad-averagepool",
        "onnxruntime",
        "onnxruntime",
        "1.20.1",
        "1.21.1",
        ("difference",),
        ("Pad", "AveragePool"),
        "g (float[1,1,4,4] x) => (float[1,1,5,5] y) {"
        " p = Constant <value = int64[8] {0,0,1,1,0,0,1,1}> () q = Pad (x, p)"
        " y = AveragePool <kernel_shape = [2, 2]> (q) }",
        _LEVELS,
    ),
    Fault(
        "matmul-mul",
        "onnxruntime",
        "onnxruntime",
        "1.22.1",
        "1.23.2",
        ("wrong-shape",),
        ("MatMul", "Mul"),
        "g (float[2,3] x, float[3,4] w) => (float[1,2,4] y) {"
        " s = Constant <value = float[1,1,1] {0.5}> () m = MatMul (x, w) y = Mul (m, s) }",
        _LEVELS,
    ),
    Fault(
        "reducesum-noop",
        "onnxruntime",
        "onnxruntime",
        "1.23.2",
        "1.24.4",
        ("rejection",),
        ("ReduceSum",),
        "g (float[2,3] x) => (float[2,3] y) { y = ReduceSum <noop_with_empty_axes = 1> (x) }",
        _LEVELS,
    ),
    Fault(
        "integer-div-zero",
        "onnxruntime",
        "onnxruntime",
        "1.24.4",
        "1.25.1",
        ("crash",),
        ("Div",),
        "g (int32[3] x) => (int32[3] y) { z = Constant <value = int32[3] {1, 0, 2}> () y = Div (x, z) }",
        _LEVELS,
    ),
    Fault(
        "onnx2torch-div",
        "onnx2torch",
        "onnx2torch",
        "1.5.12",
        "1.5.13",
        ("wrong-dtype",),
        ("Div",),
        "g (int64[3] x) => (int64[3] y) { z = Constant <value = int64[3] {2, 3, 2}> () y = Div (x, z) }",
        also=_TORCH,
    ),
    Fault(
        "onnx2torch-reducesum",
        "onnx2torch",
        "onnx2torch",
        "1.5.13",
        "1.5.14",
        ("rejection",),
        ("ReduceSum",),
        "g (float[2,3] x) => (float[2,1] y) {"
        " a = Constant <value = int64[1] {1}> () y = ReduceSum <keepdims = 1> (x, a) }",
        also=_TORCH,
    ),
    Fault(
        "onnx2torch-cumsum",
        "onnx2torch",
        "onnx2torch",
        "1.5.15",
        "",
        ("difference",),
        ("CumSum",),
        "g (float[2,3] x) => (float[2,3] y) { a = Constant <value = int64 {1}> () y = CumSum (x, a) }",
        also=_TORCH,
    ),
    Fault(
        "reference-conv-valid",
        "reference",
        "onnx",
        "1.22.0",
        "1.23.2",
        ("wrong-shape",),
        ("Conv",),
        'g (float[1,1,5,5] x, float[1,1,3,3] w) => (float[1,1,3,3] y) { y = Conv <auto_pad = "VALID"> (x, w) }',
        witnesses=("torch:eager", "onnxruntime:disabled"),
    ),
    Fault(
        "tf2onnx-where",
        "tf2onnx",
        "tf2onnx",
        "1.16.1",
        "1.17.0",
        ("nan-inf",),
        ("Where", "IsInf"),
        # A division by a constant zero would not do: TensorFlow makes it a product with infinity, which tf2onnx minds.
        "g (float[3] x) => (float[3] y) {"
        " a = Constant <value = float[3] {inf, 0.0, -inf}> () s = Add (x, a)"
        " i = IsInf (s) z = Constant <value = float {0.0}> () y = Where (i, z, s) }",
        witnesses=("reference", "torch:eager", "tensorflow:eager", "onnxruntime:disabled"),
        also=("tensorflow-cpu==2.15.1", "numpy<2", "onnxruntime==1.20.1"),
    ),
)


def try_one(fault: Fault, out: Path) -> dict[str, Any]:
    """What the campaign of one program said."""
    there = {a.target.name: a.why_not for a in describe()}
    own = {a.target.component: a.target.version for a in describe() if not a.target.environment}
    wanted = [*fault.targets(fault.shows), *(fault.targets(fault.fixed) if fault.fixed else ())]
    # A version that irfuzz's own environment has goes by the plain name.
    names = [n.replace(f"@{own.get(fault.component)}", "") for n in wanted]
    missing = [f"{n}: {there.get(n, 'no such target')}" for n in names if there.get(n, "no such target")]
    answer: dict[str, Any] = {
        "name": fault.name,
        "component": fault.component,
        "shows": fault.shows,
        "fixed": fault.fixed,
    }
    if missing:
        return {**answer, "verdict": "not tried", "why": missing[0]}
    model = out / f"{fault.name}.onnx"
    ir_version = 8 if fault.opset < 19 else 10
    text = f'<ir_version: {ir_version}, opset_import: ["" : {fault.opset}]>\n{fault.graph}'
    model.write_bytes(parser.parse_model(text).SerializeToString())
    folder = out / fault.name
    command = [
        *(sys.executable, "-m", "irfuzz", "fuzz", str(model), "--programs", "1", "--jobs", "1", "--time", "120s"),
        *("--seed", "1", "--out", str(folder), "--targets", ",".join([*names, *fault.witnesses]), "--json"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    findings = [json.loads(p.read_text()) for p in sorted(folder.glob("findings/*/finding.json"))]
    answer["findings"] = [f["title"] for f in findings]
    blamed = [f for f in findings if f["target"] in names[: len(fault.variants)] and f["symptom"] in fault.symptoms]
    named = [f for f in blamed if all(op in f["title"] for op in fault.operators)]
    right = [f for f in named if _versions_right(f, fault)]
    told = (
        "component, operators and versions"
        if right
        else "component and operators"
        if named
        else "component"
        if blamed
        else ""
    )
    answer["verdict"] = "shown" if right else "not shown"
    answer["right"] = told or f"nothing (exit {done.returncode}): {done.stderr.strip()[-200:]}"
    return answer


def _versions_right(finding: dict[str, Any], fault: Fault) -> bool:
    shown = {s["version"].partition("+")[0]: s["shows"] for s in finding["shown"]}
    return shown.get(fault.shows, True) is True and (not fault.fixed or shown.get(fault.fixed) is False)


def score(folder: Path) -> dict[str, str]:
    """The titles of the findings of a campaign that are known faults, by the faults' names.

    A finding counts where it has the symptom and names the operators, where its component shows it in the faulty
    version and not in the fixed one, be it blamed in that or another version.
    """
    found: dict[str, str] = {}
    for path in sorted(folder.glob("findings/*/finding.json")):
        about = json.loads(path.read_text())
        component, _, rest = about["target"].partition(":")[0].partition("@")
        shown = {s["version"].partition("+")[0]: s["shows"] for s in about["shown"]}
        for fault in FAULTS:
            mine = component == fault.component and about["symptom"] in fault.symptoms
            faulty = shown.get(fault.shows) is True or (not shown and rest == fault.shows)
            fixed = not fault.fixed or shown.get(fault.fixed) is False
            if mine and faulty and fixed and set(fault.operators) <= set(re.findall(r"\w+", about["title"])):
                found.setdefault(fault.name, f"{path.parent.name}: {about['title']}")
    return found


def campaign_targets() -> str:
    """What a campaign compares that is to find all of them."""
    own = {a.target.component: a.target.version for a in describe() if not a.target.environment}
    names = ["reference", "torch:eager"]
    for fault in FAULTS:
        if fault.component != "tf2onnx":
            variant = ":all" if fault.component == "onnxruntime" else ""
            version = "" if own.get(fault.component) == fault.shows else f"@{fault.shows}"
            names.append(f"{fault.component}{version}{variant}")
    return ",".join([*names, "onnxruntime:disabled", "onnxruntime:all"])


def build(fault: Fault) -> None:
    """The environments of one fault, as far as they are not there."""
    own = {a.target.component: a.target.version for a in describe() if not a.target.environment}
    for version in (fault.shows, fault.fixed):
        if version and own.get(fault.component) != version:
            command = [sys.executable, "-m", "irfuzz", "env", "add", f"{fault.distribution}=={version}"]
            command += [part for more in fault.also for part in ("--with", more)]
            subprocess.run(command, check=False)


def main() -> int:
    """Entry point."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--build", action="store_true", help="make the environments first")
    arguments.add_argument("--only", nargs="*", default=[], help="names of faults")
    arguments.add_argument("--json", type=Path, help="write the answers there")
    arguments.add_argument("--keep", type=Path, help="keep the campaigns in this folder")
    arguments.add_argument("--score", type=Path, nargs="+", help="run nothing; which faults these campaigns have found")
    arguments.add_argument("--targets", action="store_true", help="run nothing; what such a campaign is to compare")
    given = arguments.parse_args()
    if given.targets:
        print(campaign_targets())
        return 0
    if given.score:
        for folder in given.score:
            found = score(folder)
            print(f"{folder}: {len(found)} of {len(FAULTS)}")
            for name, told in found.items():
                print(f"    {name:22} {told[:150]}")
        return 0
    faults = [f for f in FAULTS if not given.only or f.name in given.only]
    answers = []
    with tempfile.TemporaryDirectory() as temporary:
        out = given.keep or Path(temporary)
        out.mkdir(parents=True, exist_ok=True)
        for fault in faults:
            if given.build:
                build(fault)
            answer = try_one(fault, out)
            answers.append(answer)
            versions = f"{fault.shows} -> {fault.fixed or 'open'}"
            why = answer.get("right") or answer.get("why")
            print(f"{fault.name:22} {fault.component:12} {versions:18} {answer['verdict']:10} {why}", flush=True)
            for line in answer.get("findings", []):
                print(f"    {line[:150]}", flush=True)
    if given.json:
        given.json.write_text(json.dumps({"faults": [asdict(f) for f in faults], "answers": answers}, indent=1))
    return int(any(a["verdict"] == "not shown" for a in answers))


if __name__ == "__main__":
    sys.exit(main())
