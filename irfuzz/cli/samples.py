"""What ``irfuzz check`` runs a model on, and what it saves of that: flags and files enter, samples leave, and back."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from irfuzz.api.data_rows import check_sample, read_values
from irfuzz.cli.parser import Parser, one_line, place, whole
from irfuzz.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

    from irfuzz.api.said import Said
    from irfuzz.execute.types import Value
    from irfuzz.ir.program import Program
    from irfuzz.localize.saved import Saved

DRAWN = 8
"""Inputs that are drawn where nobody says how many."""

FUNCTION = "load_data"
"""Of a ``--data-loader-script`` of which no function is named, as Polygraphy has it."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a model is to be run on.

    Attributes:
        samples: values by input name.
        more: what came with them and is no input, a row a sample; labels, perhaps.
        named: the flag that brought them, for messages; empty where they were drawn.
    """

    samples: list[dict[str, Value]]
    more: Mapping[str, np.ndarray] = field(default_factory=dict)
    named: str = ""


def sample_arguments(parser: Parser) -> None:
    """``--data-loader-script`` and ``--seeds``, beside those of ``input_flags``."""
    add = parser.add_argument
    add(
        "--data-loader-script", metavar="FILE.py[:FUNCTION]", type=place,
        help=f"Python whose FUNCTION (default: {FUNCTION}) gives a dict for each sample: arrays by input name.",
    )  # fmt: skip
    add("--seeds", metavar="N", type=whole(1), help=f"Inputs that are drawn without data (default: {DRAWN}).")


def draws(args: argparse.Namespace, said: Said) -> bool:
    """Whether inputs are drawn: nobody gives any, or ``--seeds`` asks for it and only a file gives some."""
    if args.data is not None or args.data_loader_script is not None:
        return False
    return not said.data or args.seeds is not None


def given(args: argparse.Namespace, program: Program, said: Said) -> Given:
    """The samples that flags and files mean.

    Args:
        args: of a command that has ``sample_arguments``.
        program: with what is said of its inputs in their metadata.
        said: of its inputs.

    Raises:
        UsageError: two say different things, a script cannot be used, or what it gives does not fit the model.
    """
    if args.data is not None and args.data_loader_script is not None:
        raise UsageError("--data-loader-script: --data brings samples too; leave one of them out")
    if args.data_loader_script is not None:
        return _scripted(program, args.data_loader_script, args.samples)
    if draws(args, said):
        return Given(_drawn(program, args.seeds or DRAWN))
    return Given([dict(sample) for sample in said.spec.samples], said.more, said.data)


def stacked(rows: Sequence[Mapping[str, Value]], flag: str) -> dict[str, Value]:
    """One array a name, with an axis of samples in front.

    Raises:
        UsageError: samples differ in shape, or there is something else than tensors.
    """
    import numpy as np

    found: dict[str, Value] = {}
    for name in rows[0] if rows else ():
        arrays = [np.asarray(r[name]) for r in rows if isinstance(r[name], np.ndarray)]
        if len(arrays) != len(rows) or len({(a.shape, a.dtype) for a in arrays}) != 1:
            raise UsageError(f"{flag}: {name!r} is not a tensor of the same shape in all samples")
        found[name] = np.stack(arrays)
    return found


def by_input(samples: Sequence[Mapping[str, Value]]) -> dict[str, Value]:
    """What ``--save-inputs`` writes: an array a name, with an axis of samples in front; a list if shapes differ."""
    found: dict[str, Value] = {}
    for name in samples[0]:
        values = [sample[name] for sample in samples]
        try:
            found |= stacked([{name: value} for value in values], "")
        except UsageError:
            found[name] = values
    return found


def rows_of(outputs: Mapping[str, Mapping[str, Sequence[Value]]], count: int) -> dict[str, Value]:
    """What ``--save-outputs`` writes: ``TARGET/OUTPUT``, a row a sample; a list where samples differ in shape.

    Targets that did not run every sample are named on standard error and left out.

    Args:
        outputs: values by target and output.
        count: of samples.
    """
    found: dict[str, Value] = {}
    for target, by_name in outputs.items():
        if any(len(values) != count for values in by_name.values()):
            print(f"irfuzz: --save-outputs: {target} did not run every input; left out", file=sys.stderr)
            continue
        for name, values in by_name.items():
            key = f"{target}/{name}"
            try:
                found |= stacked([{key: value} for value in values], "")
            except UsageError:
                found[key] = list(values)
    return found


def load_saved(path: Path, program: Program, count: int) -> list[Saved]:
    """What ``--save-outputs`` has written, as targets that answer with it.

    Raises:
        UsageError: it is no such file, or has fewer samples than are run.
    """
    from irfuzz.localize.saved import saved_of

    found = saved_of(read_values(path, f"--load-outputs {path}"), [o.name or "" for o in program.graph.outputs])
    if not found:
        names = ", ".join(o.name or "" for o in program.graph.outputs)
        raise UsageError(f"--load-outputs {path}: expected arrays TARGET/OUTPUT of outputs {names}")
    for one in found:
        if one.count < count:
            raise UsageError(
                f"--load-outputs {path}: {one.target.name} has {one.count} samples, and {count} are run; give the "
                "inputs that it was saved with"
            )
    return found


def _scripted(program: Program, place: Path, most: int | None) -> Given:
    """The samples that a function of the user's gives, in a process of its own."""
    import numpy as np

    from irfuzz.errors import InvalidProgram
    from irfuzz.frontends.convert import Converters
    from irfuzz.frontends.source import FACTORY

    flag = f"--data-loader-script {place}"
    found = None if place.exists() else FACTORY.fullmatch(str(place))
    path, function = (place, FUNCTION) if found is None else (Path(found["file"]), found["name"])
    try:
        with Converters() as converters:
            samples = converters.samples(path, function, most)
    except InvalidProgram as error:
        raise UsageError(f"{flag}: {one_line(error)}") from None
    if not samples:
        raise UsageError(f"{flag}: {function}() gave no sample")
    inputs = {v.name or "" for v in program.graph.inputs}
    more: dict[str, list[np.ndarray]] = {}
    for number, sample in enumerate(samples):
        check_sample(program, dict(sample), f"{flag}: sample {number}")
        for name, value in sample.items():
            if name not in inputs:
                more.setdefault(name, []).append(value)
    beside = {n: v for n, v in more.items() if len(v) == len(samples) and len({a.shape for a in v}) == 1}
    rows: list[dict[str, Value]] = [{n: v for n, v in s.items() if n in inputs} for s in samples]
    return Given(rows, {n: np.stack(v) for n, v in beside.items()}, flag)


def _drawn(program: Program, count: int) -> list[dict[str, Value]]:
    """Inputs of the seeds from 0."""
    from irfuzz.generate.inputs import make_inputs

    return [make_inputs(program, seed) for seed in range(count)]
