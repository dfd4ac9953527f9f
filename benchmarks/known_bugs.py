"""Whether ten faults of released versions, as small models, show, and what is blamed, as a table.

For each fault a campaign of one program runs the model on the version that has it, on the one that has not, and on
witnesses, as ``benchmarks.recall`` does for those of its list.

Environments must be there (``--build`` makes them): ``irfuzz env add onnxruntime==1.29.0`` and so on.

Run ``python -m benchmarks.known_bugs [--build] [--only NAME ...] [--json FILE]``; exit code 1 where one
is not told firmly. ``--score FOLDER ...`` runs nothing and says which faults campaigns found, and
``--targets`` prints what they compare: ``irfuzz fuzz seeds --time 20m --jobs 2 --out FOLDER --targets ...``.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

from benchmarks.recall.bugs import Bug
from benchmarks.recall.campaigns import build, judge
from irfuzz.execute.target_table import describe

_TORCH = ("torch==2.13.0", "torchvision==0.28.0")

FAULTS = (
    Bug(
        "transpose-gemm",
        "onnxruntime",
        "1.29.0",
        "1.30.0",
        ("difference",),
        ("Transpose", "Gemm"),
        17,
        "g (float[3,3] x, float[3,3] w) => (float[3,3] y) { t = Transpose <perm = [0, 1]> (x) y = Gemm (t, w) }",
    ),
    Bug(
        "pad-averagepool",
        "onnxruntime",
        "1.20.1",
        "1.21.1",
        ("difference",),
        ("Pad", "AveragePool"),
        17,
        "g (float[1,1,4,4] x) => (float[1,1,5,5] y) {"
        " p = Constant <value = int64[8] {0,0,1,1,0,0,1,1}> () q = Pad (x, p)"
        " y = AveragePool <kernel_shape = [2, 2]> (q) }",
    ),
    Bug(
        "matmul-mul",
        "onnxruntime",
        "1.22.1",
        "1.23.2",
        ("wrong-shape",),
        ("MatMul", "Mul"),
        17,
        "g (float[2,3] x, float[3,4] w) => (float[1,2,4] y) {"
        " s = Constant <value = float[1,1,1] {0.5}> () m = MatMul (x, w) y = Mul (m, s) }",
    ),
    Bug(
        "reducesum-noop",
        "onnxruntime",
        "1.23.2",
        "1.24.4",
        ("rejection",),
        ("ReduceSum",),
        17,
        "g (float[2,3] x) => (float[2,3] y) { y = ReduceSum <noop_with_empty_axes = 1> (x) }",
    ),
    Bug(
        "integer-div-zero",
        "onnxruntime",
        "1.24.4",
        "1.25.1",
        ("crash",),
        ("Div",),
        17,
        "g (int32[3] x) => (int32[3] y) { z = Constant <value = int32[3] {1, 0, 2}> () y = Div (x, z) }",
    ),
    Bug(
        "onnx2torch-div",
        "onnx2torch",
        "1.5.12",
        "1.5.13",
        ("wrong-dtype",),
        ("Div",),
        17,
        "g (int64[3] x) => (int64[3] y) { z = Constant <value = int64[3] {2, 3, 2}> () y = Div (x, z) }",
        also=_TORCH,
    ),
    Bug(
        "onnx2torch-reducesum",
        "onnx2torch",
        "1.5.13",
        "1.5.14",
        ("rejection",),
        ("ReduceSum",),
        17,
        "g (float[2,3] x) => (float[2,1] y) {"
        " a = Constant <value = int64[1] {1}> () y = ReduceSum <keepdims = 1> (x, a) }",
        also=_TORCH,
    ),
    Bug(
        "onnx2torch-cumsum",
        "onnx2torch",
        "1.5.15",
        "",
        ("difference",),
        ("CumSum",),
        17,
        "g (float[2,3] x) => (float[2,3] y) { a = Constant <value = int64 {1}> () y = CumSum (x, a) }",
        also=_TORCH,
    ),
    Bug(
        "reference-conv-valid",
        "reference",
        "1.22.0",
        "1.23.2",
        ("wrong-shape",),
        ("Conv",),
        17,
        'g (float[1,1,5,5] x, float[1,1,3,3] w) => (float[1,1,3,3] y) { y = Conv <auto_pad = "VALID"> (x, w) }',
        witnesses=("torch:eager", "onnxruntime:disabled"),
    ),
    Bug(
        "tf2onnx-where",
        "tf2onnx",
        "1.16.1",
        "1.17.0",
        ("nan-inf",),
        ("Where", "IsInf"),
        17,
        # A division by a constant zero would not do: TensorFlow makes it a product with infinity, which tf2onnx minds.
        "g (float[3] x) => (float[3] y) {"
        " a = Constant <value = float[3] {inf, 0.0, -inf}> () s = Add (x, a)"
        " i = IsInf (s) z = Constant <value = float {0.0}> () y = Where (i, z, s) }",
        witnesses=("reference", "torch:eager", "tensorflow:eager", "onnxruntime:disabled"),
        also=("tensorflow-cpu==2.15.1", "numpy<2", "onnxruntime==1.20.1"),
    ),
)


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
    if given.build:
        build(faults)
    return judge(faults, given.keep, given.json)


if __name__ == "__main__":
    sys.exit(main())
