"""How many mutants, as a campaign draws them, hold and show each known fault, as a table.

A campaign's luck hangs on the load of the machine; how often a trigger is drawn does not. Programs are made as ``irfuzz
fuzz`` makes them: sprouts, seeds, and mutants that brought something new. A program *holds* a fault where its trigger
stands there (a test of nodes, below), and *shows* it where the faulty version then does something else than the fixed
one, or than the reference. It is *blamed* where the oracles, given what all of ``TARGETS`` did with it, say that the
faulty version is wrong and do not merely suspect it. ``HELD_OUT`` are further faults of the same kinds, reported or of
kinds that were reported, on which nothing was tuned; these are only looked for.

Run ``python benchmarks/drawn_bugs.py [-n 3000] [--seed 1] [--hold] [--sprouts 0.8] [--json FILE]``; with ``--hold``
nothing is run.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir

from irfuzz.campaign.corpus.mutation_steering import CALLS
from irfuzz.choices import Choices
from irfuzz.errors import Unsupported
from irfuzz.execute.run_types import Exit, RunResult
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import describe, resolve
from irfuzz.facts import TensorFact
from irfuzz.generate.graph_inputs.number_class_draw import draw_numbers
from irfuzz.generate.input_values import make_inputs
from irfuzz.generate.one_node_programs import sprouts, sprouts_up_to
from irfuzz.ir.program import Program
from irfuzz.ir.value import fact_of
from irfuzz.isolate import Limits
from irfuzz.mutate.drawn_calls.identity_program_filling import bare
from irfuzz.mutate.drawn_calls.identity_program_mutator_choice import called
from irfuzz.mutate.feature_counts import FeatureCounts
from irfuzz.mutate.mutation_engine import Engine
from irfuzz.mutate.mutator_table import campaign_weights
from irfuzz.oracle import judge
from irfuzz.shipped_folders import seeds_dir
from irfuzz.spec import load_specs

Test = Callable[[ir.Node], bool]

CANDIDATES, CROWD = 32, 500
"""Parents are the best of so many; for every so many of them a new one must bring one more new feature."""


# ---- what nodes are asked -------------------------------------------------------------------------


def attr(node: ir.Node, name: str, default: Any = None) -> Any:
    """An attribute's value."""
    found = node.attributes.get(name)
    return default if found is None else found.value


def source(node: ir.Node, index: int) -> ir.Node | None:
    """The node that computes an input."""
    value = node.inputs[index] if index < len(node.inputs) else None
    return None if value is None else value.producer()


def made_by(node: ir.Node, index: int, *ops: str) -> bool:
    """True where one of these operators computes an input."""
    producer = source(node, index)
    return producer is not None and producer.op_type in ops


def given(node: ir.Node, index: int) -> bool:
    """True where there is such an input."""
    return index < len(node.inputs) and node.inputs[index] is not None


def fact(value: ir.Value | None) -> TensorFact | None:
    """Type and shape."""
    found = None if value is None else fact_of(value)
    return found if isinstance(found, TensorFact) else None


def rank(value: ir.Value | None) -> int:
    """How many dimensions; -1 where that is not known."""
    found = fact(value)
    return -1 if found is None or found.rank is None else found.rank


def constant(node: ir.Node, index: int) -> np.ndarray | None:
    """Elements of a constant input."""
    value = node.inputs[index] if index < len(node.inputs) else None
    if value is None:
        return None
    if value.const_value is not None:
        return value.const_value.numpy()
    producer = value.producer()
    held = attr(producer, "value") if producer is not None and producer.op_type == "Constant" else None
    return None if held is None else held.numpy()


def is_a(dtypes: tuple[ir.DataType, ...], value: ir.Value | None) -> bool:
    """True for a tensor of one of these types."""
    found = fact(value)
    return found is not None and found.dtype in dtypes


def keeps(node: ir.Node | None) -> bool:
    """True for a Transpose that moves nothing."""
    perm = None if node is None or node.op_type != "Transpose" else attr(node, "perm")
    return perm is not None and list(perm) == sorted(perm)


def longer_by_ones(node: ir.Node) -> bool:
    """One operand is a constant of one element and more dimensions than the other."""
    for index in (0, 1):
        array = constant(node, index)
        if array is not None and array.size == 1 and array.ndim > rank(node.inputs[1 - index]) >= 0:
            return True
    return False


def scaled(node: ir.Node) -> bool:
    """A product times a constant that raises its rank."""
    return longer_by_ones(node) and (made_by(node, 0, "MatMul") or made_by(node, 1, "MatMul"))


def scale_of(value: ir.Value | None) -> bool:
    """An operand that is something times a constant that raises its rank."""
    node = None if value is None else value.producer()
    return node is not None and node.op_type in ("Mul", "Div") and longer_by_ones(node)


_INTEGERS = tuple(d for d in ir.DataType if d.is_integer())
_REDUCTIONS = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2")


def _div_by_zero(node: ir.Node) -> bool:
    return node.op_type == "Div" and is_a(_INTEGERS, node.inputs[1])


KNOWN: dict[str, tuple[Test, str, str, str]] = {
    "transpose-gemm": (
        lambda n: n.op_type == "Gemm" and (keeps(source(n, 0)) or keeps(source(n, 1))),
        "onnxruntime@1.29.0:all",
        "onnxruntime@1.30.0:all",
        "",
    ),
    "pad-averagepool": (
        lambda n: n.op_type == "AveragePool" and made_by(n, 0, "Pad"),
        "onnxruntime@1.20.1:all",
        "onnxruntime@1.21.1:all",
        "",
    ),
    "matmul-mul": (
        lambda n: scaled(n) if n.op_type in ("Mul", "Div") else n.op_type == "MatMul" and any(map(scale_of, n.inputs)),
        "onnxruntime@1.22.1:all",
        "onnxruntime@1.23.2:all",
        "",
    ),
    "reducesum-noop": (
        lambda n: n.op_type == "ReduceSum" and attr(n, "noop_with_empty_axes") == 1 and not given(n, 1),
        "onnxruntime@1.23.2:all",
        "onnxruntime@1.24.4:all",
        "",
    ),
    "integer-div-zero": (_div_by_zero, "onnxruntime@1.24.4:all", "onnxruntime@1.25.1:all", "crash"),
    "onnx2torch-div": (
        lambda n: n.op_type == "Div" and is_a((ir.DataType.INT64,), n.outputs[0]),
        "onnx2torch@1.5.12",
        "onnx2torch@1.5.13",
        "",
    ),
    "onnx2torch-reducesum": (
        lambda n: n.op_type == "ReduceSum" and constant(n, 1) is not None and attr(n, "keepdims", 1) == 1,
        "onnx2torch@1.5.13",
        "onnx2torch@1.5.14",
        "",
    ),
    "onnx2torch-cumsum": (
        lambda n: n.op_type == "CumSum" and not attr(n, "exclusive", 0) and not attr(n, "reverse", 0),
        "onnx2torch",
        "onnxruntime:disabled",
        "",
    ),
    "reference-conv-valid": (
        lambda n: n.op_type == "Conv" and attr(n, "auto_pad") == "VALID",
        "reference@1.22.0",
        "reference",
        "",
    ),
    "tf2onnx-where": (
        lambda n: n.op_type == "Where" and made_by(n, 0, "IsInf"),
        "",
        "",
        "",
    ),
}
"""Of each: its trigger, a target that has the fault, one that has not, and the end that shows it if no other does."""

TARGETS = {
    *("reference", "reference@1.22.0", "torch:eager", "onnxruntime:disabled", "onnxruntime:all", "onnx2torch"),
    *(fault[1] for fault in KNOWN.values() if fault[1]),
}
"""Of a campaign that looks for all of them."""

HELD_OUT: dict[str, Test] = {
    # microsoft/onnxruntime#32418: the same rewrite on the second operand, sizes that differ
    "identity Transpose of Gemm's B": lambda n: n.op_type == "Gemm" and keeps(source(n, 1)),
    # inisis/OnnxSlim#38: constant folding without start and end
    "Shape with start or end": lambda n: (
        n.op_type == "Shape" and (attr(n, "start") is not None or attr(n, "end") is not None)
    ),
    # inisis/OnnxSlim#277: two slices taken for one
    "Slice of a Slice": lambda n: n.op_type == "Slice" and made_by(n, 0, "Slice"),
    # onnx/tensorflow-onnx#1809, #1941: transposes pushed through a Split
    "Split of a Transpose": lambda n: n.op_type == "Split" and made_by(n, 0, "Transpose"),
    # onnx/optimizer fuse_pad_into_maxpool: what is padded matters
    "Pad feeding MaxPool": lambda n: n.op_type == "MaxPool" and made_by(n, 0, "Pad"),
    # onnx/onnx#7805: channels counted along the batch
    "LRN of more than one channel": lambda n: (
        n.op_type == "LRN" and (f := fact(n.inputs[0])) is not None and f.rank != 0 and f.shape[1:2] != (1,)
    ),
    # removal of an element that changes nothing but the rank (Add 0, Mul 1, Sub 0, Div 1)
    "neutral operand that raises the rank": lambda n: (
        n.op_type in ("Add", "Sub", "Mul", "Div")
        and longer_by_ones(n)
        and any(
            (c := constant(n, i)) is not None and c.size == 1 and c.item() == (0 if n.op_type in ("Add", "Sub") else 1)
            for i in (0, 1)
        )
    ),
    # a reduction whose axes are there and empty
    "reduction over no axes": lambda n: n.op_type in _REDUCTIONS and (a := constant(n, 1)) is not None and a.size == 0,
    # a ReLU taken into a clip whose limits are not those of a ReLU
    "Clip next to Relu": lambda n: (
        (n.op_type == "Relu" and made_by(n, 0, "Clip")) or (n.op_type == "Clip" and made_by(n, 0, "Relu"))
    ),
    # casts that cancel although the one between loses something
    "Cast of a Cast": lambda n: n.op_type == "Cast" and made_by(n, 0, "Cast"),
    # a batch normalisation taken into a convolution that pads by itself
    "BatchNormalization of Conv with auto_pad": lambda n: (
        n.op_type == "BatchNormalization" and (c := source(n, 0)) is not None and "auto_pad" in c.attributes
    ),
    # windows that end beyond the input
    "MaxPool with ceil_mode and strides": lambda n: (
        n.op_type == "MaxPool" and attr(n, "ceil_mode") == 1 and max(attr(n, "strides", [1])) > 1
    ),
    # a Squeeze and an Unsqueeze that do not cancel
    "Unsqueeze of a Squeeze": lambda n: n.op_type == "Unsqueeze" and made_by(n, 0, "Squeeze"),
    # backwards, or beyond the ends
    "Slice with a negative step": lambda n: (
        n.op_type == "Slice" and (s := constant(n, 4)) is not None and bool((s < 0).any())
    ),
    # a sum taken for Gemm's bias though it has more dimensions
    "Add of higher rank behind MatMul or Gemm": lambda n: (
        n.op_type == "Add"
        and any(made_by(n, i, "MatMul", "Gemm") and rank(n.inputs[1 - i]) > rank(n.inputs[i]) for i in (0, 1))
    ),
    # an activation taken into a Gemm or Conv whose result is read twice
    "LeakyRelu behind Conv or Gemm": lambda n: n.op_type == "LeakyRelu" and made_by(n, 0, "Conv", "Gemm"),
    # onnx2torch: axis of softmax before opset 13
    "Softmax along no last axis": lambda n: (
        n.op_type == "Softmax" and attr(n, "axis") is not None and attr(n, "axis") not in (-1, rank(n.inputs[0]) - 1)
    ),
    # a Transpose taken through a reduction
    "reduction of a Transpose": lambda n: n.op_type in _REDUCTIONS and made_by(n, 0, "Transpose"),
}
"""Further triggers: merely looked for."""


# ---- programs -------------------------------------------------------------------------------------


def programs(
    count: int, seed: int, share: float, edits: int = 4, max_opset: int = 21
) -> Iterator[tuple[Program, dict[str, Any]]]:
    """Mutants and their inputs, as the first job of a campaign makes them."""
    seen = FeatureCounts()
    engine = Engine(load_specs(), seen=seen, max_nodes=200, max_opset=max_opset, weights=campaign_weights())
    held = {p.stem: Program.from_bytes(p.read_bytes()) for p in sorted(seeds_dir().glob("*.onnx"))}
    worth = {name: 1 / (1 + len(p.nodes()) / 30) for name, p in held.items()}
    picked = Counter[str]()
    names = list(held)
    for program in held.values():
        seen.add_program(program)
    small = tuple(sprouts()[name] for name in sprouts_up_to(max_opset))
    for number in range(count):
        choices = Choices.from_seed(f"{seed}/{number}")
        if choices.boolean(share):
            parent = choices.pick(small)
        else:
            among = [choices.pick(names) for _ in range(CANDIDATES)]
            chosen = choices.weighted(among, [worth[n] / (1 + picked[n]) for n in among])
            picked[chosen] += 1
            parent = held[chosen]
        if bare(parent) is not None and choices.boolean(CALLS):
            plan = called(choices, engine.mutators)
            mutant = engine.mutate(parent, choices, len(plan), plan)
        else:
            mutant = engine.mutate(parent, choices, edits=choices.integer(1, edits))
        if mutant is None:
            continue
        program = mutant.program
        try:
            inputs = make_inputs(program, choices.seed(), numbers=draw_numbers(program, choices))
        except Unsupported:
            continue
        features = seen.add_mutant(program)
        if features >= 1 + len(names) // CROWD:
            name = f"mutant {number}"
            held[name] = program
            worth[name] = (1 + min(features, 50)) / (1 + len(program.nodes()) / 30)
            names.append(name)
        yield program, dict(inputs)


def differs(one: RunResult, other: RunResult, end: str) -> bool:
    """Whether a version does something that another one does not."""
    if end:
        return str(one.exit) == end and str(other.exit) != end
    if other.exit is not Exit.OK:
        return False
    if one.exit is not Exit.OK:
        return one.exit is not Exit.UNSUPPORTED
    for name, value in other.outputs.items():
        mine = one.outputs.get(name)
        if not isinstance(value, np.ndarray) or not isinstance(mine, np.ndarray):
            continue
        if mine.dtype != value.dtype or mine.shape != value.shape:
            return True
        if value.dtype.kind in "fiub" and not np.allclose(
            mine.astype(np.float64), value.astype(np.float64), rtol=1e-2, atol=1e-3, equal_nan=True
        ):
            return True
    return False


def blamed(runner: Runner, program: Program, inputs: dict[str, Any], wanted: str) -> bool:
    """Whether the oracles find a target wrong among all."""
    targets = [t for t in runner.targets if t.name in TARGETS]

    def rerun(other: Mapping[str, Any], moved: Program | None = None, /) -> list[RunResult]:
        return runner.run(moved or program, other, targets)

    verdicts = judge(program, inputs, rerun(inputs), rerun=rerun)
    about = {v.target: str(v.evidence.get("also", "")).split(", ") for v in verdicts if not v.suspect}
    return any(wanted in (target, *others) for target, others in about.items())


def count(found: Iterator[tuple[Program, dict[str, Any]]], *, run: bool) -> tuple[Mapping[str, Counter[str]], int]:
    """How many programs hold and show each fault, and how many there were."""
    counts = {name: Counter[str]() for name in ("holds", "shows", "blamed", "held out")}
    total = 0
    there = {a.target.name for a in describe() if not a.why_not}
    tried = {k: f for k, f in KNOWN.items() if run and f[1] and {f[1], f[2]} <= there}
    names = sorted({n for f in tried.values() for n in f[1:3]} | (TARGETS & there)) if tried else []
    runner = Runner(resolve(names), Limits(seconds=10)).__enter__() if names else None
    try:
        targets = {t.name: t for t in runner.targets} if runner else {}
        for program, inputs in found:
            total += 1
            nodes = program.nodes()
            held = [name for name, fault in KNOWN.items() if any(map(fault[0], nodes))]
            counts["holds"].update(held)
            counts["held out"].update(name for name, test in HELD_OUT.items() if any(map(test, nodes)))
            asked = [n for n in held if n in tried]
            wanted = sorted({t for n in asked for t in tried[n][1:3]})
            if runner is None or not wanted:
                continue
            results = {r.target.name: r for r in runner.run(program, inputs, [targets[t] for t in wanted])}
            shown = [n for n in asked if differs(results[tried[n][1]], results[tried[n][2]], tried[n][3])]
            counts["shows"].update(shown)
            counts["blamed"].update(n for n in shown if blamed(runner, program, inputs, tried[n][1]))
    finally:
        if runner:
            runner.close()
    return counts, total


def table(counts: Mapping[str, Counter[str]], total: int) -> str:
    """For people."""
    lines = [f"{'of ' + str(total) + ' programs':44} {'hold':>6} {'show':>6} {'blamed':>6}"]
    lines += [
        f"{name:44} {counts['holds'][name]:6} {counts['shows'][name]:6} {counts['blamed'][name]:6}" for name in KNOWN
    ]
    lines += [f"  held out: {name:32} {counts['held out'][name]:6}" for name in HELD_OUT]
    drawn = sum(counts["held out"][n] > 0 for n in HELD_OUT)
    shown = sum(counts["shows"][n] > 0 for n in KNOWN)
    lines.append(f"{shown} of {len(KNOWN)} known faults show; {drawn} of {len(HELD_OUT)} held-out triggers are drawn")
    return "\n".join(lines)


def main() -> int:
    """Entry point."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("-n", type=int, default=3000, help="programs")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--sprouts", type=float, default=0.8, help="share of programs that grow from one node")
    arguments.add_argument("--hold", action="store_true", help="look for triggers only, run nothing")
    arguments.add_argument("--json", type=Path, help="write the counts there")
    asked = arguments.parse_args()
    began = time.process_time()
    counts, total = count(programs(asked.n, asked.seed, asked.sprouts), run=not asked.hold)
    print(table(counts, total))
    print(f"{1000 * (time.process_time() - began) / max(1, total):.1f} ms of own processor time a program")
    if asked.json:
        asked.json.write_text(json.dumps({"programs": total, **{k: dict(v) for k, v in counts.items()}}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
