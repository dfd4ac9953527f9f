"""Decides once, when models are read, the shapes and meanings of inputs that they do not say (docs/inputs.md)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from irfuzz.api.progress_update import Observer, Update, unobserved
from irfuzz.campaign.corpus.seed_folder_maintenance import INDEX, read_index
from irfuzz.execute.quickest_installed_runtime import QuickRuntime
from irfuzz.facts import TensorFact
from irfuzz.generate.input_planning import annotate, plan_inputs, without_floats
from irfuzz.ir.inference.call_output_types import one_line
from irfuzz.spec import load_specs

if TYPE_CHECKING:
    from irfuzz.ir.program import Program


Key = TypeVar("Key", Path, str, Path | str)


def planned(
    programs: Mapping[Key, Program], *, guess_floats: bool = True, observer: Observer = unobserved
) -> dict[Key, Program]:
    """The programs with a plan in the metadata of their inputs, if those leave something open.

    Models that an ``index.toml`` beside them describes are left as they are: it says what their inputs mean.

    Args:
        programs: by file, or by name if there is no file, with what is said of their inputs in their metadata; they
            stay as they are.
        guess_floats: inputs of floats get a range, too, if something tells what they are.
        observer: gets a remark for each model for which no sizes were found.
    """
    found = dict(programs)
    specs = load_specs()
    with QuickRuntime() as runtime:
        for number, (path, program) in enumerate(programs.items()):
            observer(Update("looking for sizes of inputs", number, len(programs), "models"))
            if _indexed(path):
                continue
            plan = plan_inputs(program, runtime=runtime, specs=specs)
            plan = plan if guess_floats else without_floats(program, plan)
            if plan:
                found[path] = program.clone()
                annotate(found[path], plan)
            if plan.why_not:
                observer(Update(remark=f"{path}: {_unsolved(program, plan.why_not)}"))
    return found


def _indexed(path: Path | str) -> bool:
    if isinstance(path, str) or not (path.parent / INDEX).exists():
        return False
    return any(entry["file"] == path.name for entry in read_index(path.parent))


def _unsolved(program: Program, why: str) -> str:
    return f"no sizes of its inputs were found with which it gives something ({one_line(why)}); {advice(program)}"


def advice(program: Program) -> str:
    """The flags that say what inputs are, with the names of this program."""
    facts = {v.name or "": program.fact(v) for v in program.graph.inputs if v.name not in program.graph.initializers}
    tensors = {name: fact for name, fact in facts.items() if isinstance(fact, TensorFact)}
    name, fact = next(iter(tensors.items()), ("NAME", None))
    shape = "x".join(str(d) if isinstance(d, int) else "N" for d in (fact.shape or () if fact else ())) or "1"
    named = [d for f in tensors.values() for d in f.shape or () if isinstance(d, str)]
    size = f", --size {named[0]}=N" if named else ""
    return f"to give others: --input-shapes {name}:{shape}{size}, --range {name}=LO,HI, or --data FILE.npz"
