"""Decides once, when models are read, the shapes and meanings of inputs that they leave open (docs/inputs.md)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from irfuzz.cli.parser import one_line
from irfuzz.cli.progress import Progress

if TYPE_CHECKING:
    from irfuzz.ir.program import Program


def planned(programs: Mapping[Path, Program], *, guess_floats: bool = True) -> dict[Path, Program]:
    """The programs with a plan in the metadata of their inputs, if those leave something open.

    Models that an ``index.toml`` beside them describes are left as they are: it says what their inputs mean.

    Args:
        programs: by file, with what the user said in their metadata; they stay as they are.
        guess_floats: inputs of floats get a range, too, if something tells what they are.
    """
    from irfuzz.execute.quick_runtime import QuickRuntime
    from irfuzz.generate.planning import annotate, plan_inputs, without_floats
    from irfuzz.spec import load_specs

    found = dict(programs)
    specs = load_specs()
    with Progress("looking for sizes of inputs", len(programs), "models") as progress, QuickRuntime() as runtime:
        for path, program in progress.over(programs.items()):
            if _indexed(path):
                continue
            plan = plan_inputs(program, runtime=runtime, specs=specs)
            plan = plan if guess_floats else without_floats(program, plan)
            if plan:
                found[path] = program.clone()
                annotate(found[path], plan)
            if plan.why_not:
                print(f"irfuzz: {path}: {_unsolved(program, plan.why_not)}", file=sys.stderr)
    return found


def one_planned(path: Path, program: Program, *, guess_floats: bool = True) -> Program:
    """``planned`` of one model."""
    return planned({path: program}, guess_floats=guess_floats)[path]


def _indexed(path: Path) -> bool:
    from irfuzz.campaign.seed_folder import INDEX, read_index

    if not (path.parent / INDEX).exists():
        return False
    return any(entry["file"] == path.name for entry in read_index(path.parent))


def _unsolved(program: Program, why: str) -> str:
    return f"no sizes of its inputs were found with which it gives something ({one_line(why)}); {advice(program)}"


def advice(program: Program) -> str:
    """The flags that say what inputs are, with the names of this program."""
    from irfuzz.facts import TensorFact

    facts = {v.name or "": program.fact(v) for v in program.graph.inputs if v.name not in program.graph.initializers}
    tensors = {name: fact for name, fact in facts.items() if isinstance(fact, TensorFact)}
    name, fact = next(iter(tensors.items()), ("NAME", None))
    shape = "x".join(str(d) if isinstance(d, int) else "N" for d in (fact.shape or () if fact else ())) or "1"
    named = [d for f in tensors.values() for d in f.shape or () if isinstance(d, str)]
    size = f", --size {named[0]}=N" if named else ""
    return f"to give others: --input-shapes {name}:{shape}{size}, --range {name}=LO,HI, or --data FILE.npz"
