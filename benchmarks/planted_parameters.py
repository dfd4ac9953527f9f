"""Whether AUDEE's causal test names the guilty parameter, and no other, of parameter faults over many operators.

    python -m benchmarks.planted_parameters [-n 120] [--seed 0] [--each 3] [--ops AveragePool,Conv] [--json FILE]

Each fault is a runtime (``tests/planted_targets/wrong_parameters.py``) that takes one attribute of one operator
wrongly: it does not read it, reads it turned or off by one, or computes nonsense wherever it is not the default. Calls
are drawn by ``ops/`` at opset 17 until the fault shows and nothing but values is wrong; which faults are taken, and the
calls, follow from the seed. A fault counts if the first source is the layer and its only named parameter is the guilty
one. Exit code: 1 if fewer than 90% do.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program
from irfuzz.localize.nodes.causal_testing import CausalTest, Causes
from irfuzz.spec import OpSpec, load_specs, with_trait
from tests.spec.census.calls import draw

ROOT = Path(__file__).parents[1]
FILE = "tests/planted_targets/wrong_parameters.py"
sys.path.insert(0, str(ROOT / "tests" / "planted_targets"))
import wrong_parameters  # noqa: E402 - the planted targets are files that workers load by path

OPSET, TRIES, LEAST = 17, 12, 0.9
NUMBERS = frozenset({"INT", "INTS", "FLOAT", "FLOATS"})

Planted = tuple[str, onnx.ModelProto, dict[str, Any]]
"""Name of a fault, and the call in which it shows."""


def faults(specs: list[OpSpec], seed: int, most: int, each: int) -> Iterator[Planted]:
    """Faults that show in a drawn call, in the order that the seed gives; of one operator ``each`` at most."""
    kinds = (*wrong_parameters.KINDS, wrong_parameters.SPOILT)
    every = [
        (spec, attr.name, kind)
        for spec in specs
        if spec.inputs and spec.op not in with_trait("random")
        for attr in spec.attrs.values()
        if attr.type in NUMBERS and not (attr.domain and attr.domain.dtype_of)
        for kind in kinds
    ]
    seen: Counter[str] = Counter()
    for spec, attribute, kind in Choices.from_seed(f"planted/{seed}").sample(every, len(every)):
        if seen.total() == most:
            return
        if seen[spec.op] == each:
            continue
        name = f"{spec.op}__{attribute}__{kind}"
        call = next(filter(None, (_call(spec, name, attribute, f"{seed}/{k}") for k in range(TRIES))), None)
        if call is not None:
            seen[spec.op] += 1
            yield name, *call


def _call(spec: OpSpec, name: str, attribute: str, seed: str) -> tuple[onnx.ModelProto, dict[str, Any]] | None:
    """A drawn call with the attribute in which the fault shows, as a model of one node."""
    case = draw(spec, OPSET, seed)
    if case is None or attribute not in case.attrs:
        return None
    try:
        data, feeds = case.model()
        model = onnx.load_model_from_string(data)
        values = ReferenceEvaluator(model).run(None, feeds)
    except Exception:  # noqa: BLE001 - a call that ONNX's evaluator does not run shows nothing
        return None
    if not all(isinstance(v, np.ndarray) and v.dtype.kind in "fiub" and v.size for v in values):
        return None
    if not all(np.isfinite(v.astype(np.float64)).all() for v in values):
        return None
    del model.graph.output[:]
    for output, value in zip(model.graph.node[0].output, values, strict=True):
        kind = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
        model.graph.output.append(onnx.helper.make_tensor_value_info(output, kind, value.shape))
    try:
        Program.from_proto(model)
    except InvalidProgram:
        return None  # the evaluator gives another shape than ONNX infers
    shown = wrong_parameters.shows(model, feeds, wrong_parameters.fault_of(name))
    return (model, feeds) if shown else None


def causes(planted: Planted) -> Causes:
    """What the causal test says of a fault."""
    name, model, feeds = planted
    with Runner(resolve(["reference", f"{FILE}:{name}"])) as runner:
        base, other = runner.targets
        return CausalTest(runner, base, other).causes(Program.from_proto(model), feeds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=120, help="faults to plant, at most")
    parser.add_argument("--each", type=int, default=3, help="of one operator, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ops", default="", help="comma-separated; all where omitted")
    parser.add_argument("--json", type=Path, help="where to write the rows")
    options = parser.parse_args()
    wanted = {op for op in options.ops.split(",") if op}
    specs = [s for s in load_specs().overlaid(OPSET) if not wanted or s.op in wanted]
    rows: list[dict[str, Any]] = []
    began = time.monotonic()
    for planted in faults(specs, options.seed, options.n, options.each):
        guilty = planted[0].split("__")[1]
        told = causes(planted)
        # Another value with which it crashes or gives NaN is a fault of its own (line 12).
        names = [p.name for s in told.sources[:1] for p in s.parameters if p.why not in ("crash", "NaN")]
        right = names == [guilty]
        rows.append({"fault": planted[0], "named": names, "right": right, "largest": told.largest, "why": told.why_not})
        print(
            f"{'right' if right else 'WRONG':<6}{planted[0]:<52}{', '.join(names) or '-'}  {told.why_not}", flush=True
        )
    right = sum(row["right"] for row in rows)
    operators = len({row["fault"].partition("__")[0] for row in rows})
    named = sum(row["fault"].split("__")[1] in row["named"] for row in rows)
    print(
        f"{right} of {len(rows)} faults of {operators} operators have the guilty parameter alone named "
        f"({right / max(1, len(rows)):.1%}), {named} have it among those named; "
        f"{time.monotonic() - began:.0f} s"
    )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    sys.exit(right < LEAST * len(rows))


if __name__ == "__main__":
    main()
