"""Which graph transformers and rewrite rules of ONNXRuntime the book of patterns reaches.

Each pattern of ``irfuzz/mutate/patterns`` is drawn a few times as optimisers know it, alone in a program, at some
opsets, and run on each version with its log of passes: which of the passes that the version registers (asked of the
library) changed one of these programs, and which patterns they were. What is left out for a reason
(``irfuzz/execute/onnxruntime_passes.toml``, ``excluded``) is counted apart.

Run ``python benchmarks/passes.py [--targets onnxruntime:all] [--draws 4] [--save FOLDER] [--json]``; targets such as
``onnxruntime@1.23.2:all`` need the environment of that version (``irfuzz env add onnxruntime==1.23.2``). With
``--save`` one program for each pass is written.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import onnx
import onnx_ir as ir
from onnx import helper, numpy_helper

from irfuzz.choices import Choices
from irfuzz.errors import IrfuzzError
from irfuzz.execute.onnxruntime_passes import excluded, registered, rule_names
from irfuzz.execute.run_types import Target
from irfuzz.execute.runner import Runner
from irfuzz.facts import TensorFact
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.mutate.patterns.pattern_draft import PatternDraft, draw_rest, draw_sizes, make, sizes_of
from irfuzz.mutate.patterns.pattern_draft_validation import judge, spell
from irfuzz.mutate.patterns.pattern_file_reader import SubgraphPattern, patterns
from irfuzz.spec import load_specs

OPSETS = (17, 13, 21, 11)
LARGEST = 1 << 16


def drawn(pattern: SubgraphPattern, draws: int) -> Iterator[Program]:
    """The pattern as it is known, alone in a program, on drawn sizes and types."""
    for number in range(draws):
        choices = Choices.from_seed(f"{pattern.name}/{number}")
        shape = choices.pick(pattern.shapes)
        env = draw_sizes(pattern, shape, choices)
        if number % 3 == 2:  # one size is open, so that what hangs on it is not folded
            name = choices.pick(sorted(env))
            env[name] = "open" if isinstance(env[name], int) else env[name]
        sizes = sizes_of(shape, env)
        if sizes is None:
            continue
        draw_rest(pattern, env, choices)
        dtype = pattern.types[number % len(pattern.types)]
        draft = make(pattern, TensorFact(dtype, sizes), env, choices)
        for opset in OPSETS:
            if draft is not None and judge(load_specs(), opset, draft, LARGEST) is None:
                try:
                    yield Program.from_proto(alone(draft, opset, between=bool(number % 2)))
                except IrfuzzError:
                    continue


def alone(draft: PatternDraft, opset: int, *, between: bool) -> onnx.ModelProto:
    """A model of nothing but the drafted pattern; what nobody reads is an output.

    With one more node before and behind it, if it is to stand ``between``: optimisers spare much of what reads an input
    or computes an output.
    """
    steps = [spelled for step in draft.steps if (spelled := spell(step, draft, opset)) is not None]
    inner = {name for step in steps for name in step.inputs}
    nodes = [helper.make_node(s.op, [n or "" for n in s.inputs], s.outputs, **s.attrs) for s in steps]
    inputs = {name: _info(name, draft.facts[name]) for name in draft.given if name in inner}
    ends = {name: _info(name, draft.facts[name]) for step in steps for name in step.outputs if name not in inner}
    if between:
        for name in [*inputs]:
            fact = draft.facts[name]
            inputs[name] = _info(f"{name}_before", fact)
            nodes.insert(0, helper.make_node(_neutral(fact), [f"{name}_before"], [name]))
        for name in [*ends]:
            fact = draft.facts[name]
            ends[name] = _info(f"{name}_behind", fact)
            nodes.append(helper.make_node(_neutral(fact), [name], [f"{name}_behind"]))
    held = [numpy_helper.from_array(array, name) for name, array in draft.constants.items() if name in inner]
    graph = helper.make_graph(nodes, "pattern", [*inputs.values()], [*ends.values()], held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8 if opset < 19 else 10)


def _neutral(fact: TensorFact) -> str:
    """An operator that no pass touches, for this element type."""
    return "Not" if fact.dtype is ir.DataType.BOOL else "Abs"


def _info(name: str, fact: TensorFact) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, int(fact.dtype.value), fact.shape)


def fired(runner: Runner, target: Target, draws: int, save: Path | None) -> tuple[list[str], dict[str, list[str]]]:
    """What the target registers, and by pass the patterns that fire it."""
    names = registered(runner, target)
    found: dict[str, list[str]] = {}
    asked = {"tell": "modified", "rules": ",".join(rule_names())}
    for pattern in patterns():
        for number, program in enumerate(drawn(pattern, draws)):
            ran = runner.run_as(program, make_inputs(program, number), target, asked)
            for name in ran.passes:
                known = found.setdefault(name, [])
                if not known and save is not None:
                    folder = save / target.name.replace(":", "-")
                    folder.mkdir(parents=True, exist_ok=True)
                    (folder / f"{name}.onnx").write_bytes(program.to_bytes())
                if pattern.name not in known:
                    known.append(pattern.name)
    return list(names), found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", default="onnxruntime:all", help="separated by commas")
    parser.add_argument("--draws", type=int, default=4, help="of each pattern, at four opsets")
    parser.add_argument("--save", type=Path, help="folder for one program a pass")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    rows = {}
    with Runner(args.targets.split(",")) as runner:
        for target in runner.targets:
            names, found = fired(runner, target, args.draws, args.save)
            out = {name: why for name, why in excluded().items() if name in names}
            left = [name for name in names if name not in out]
            rows[target.name] = {
                "version": target.version,
                "registered": len(names),
                "excluded": out,
                "fired": {name: found[name] for name in left if name in found},
                "missing": [name for name in left if name not in found],
                "fired although excluded": [name for name in out if name in found],
            }
    if args.json:
        print(json.dumps(rows, indent=1))
        return
    for name, row in rows.items():
        wanted = len(row["fired"]) + len(row["missing"])
        print(f"{name} ({row['version']}): {row['registered']} passes, {len(row['excluded'])} excluded")
        print(f"  {len(row['fired'])} of {wanted} fired")
        for key, patterns_of in row["fired"].items():
            print(f"    {key}: {', '.join(patterns_of[:4])}{' ...' if len(patterns_of) > 4 else ''}")
        print(f"  missing: {', '.join(row['missing']) or 'none'}")
        if row["fired although excluded"]:
            print(f"  fired although excluded: {', '.join(row['fired although excluded'])}")


if __name__ == "__main__":
    main()
