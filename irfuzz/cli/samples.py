"""What ``irfuzz check`` runs a model on, and what it saves of that: flags and files enter, samples leave, and back."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from irfuzz.cli.parser import Parser, one_line, place, whole
from irfuzz.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

    from irfuzz.execute.types import Value
    from irfuzz.ir.program import Program
    from irfuzz.localize.saved import Saved

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
    """``--data``, ``--data-loader-script``, ``--seeds`` and ``--samples``."""
    add = parser.add_argument
    add(
        "--data", "--load-inputs", metavar="FILE", type=place,
        help="An npz: for each input an array whose first axis is the samples.",
    )  # fmt: skip
    add(
        "--data-loader-script", metavar="FILE.py[:FUNCTION]", type=place,
        help=f"Python whose FUNCTION (default: {FUNCTION}) gives a dict for each sample: arrays by input name.",
    )  # fmt: skip
    add("--seeds", metavar="N", type=whole(1), default=8, help="Inputs that are drawn without data (default: 8).")
    add("--samples", metavar="N", type=whole(1), help="Take the first N of the data.")


def given(args: argparse.Namespace, program: Program) -> Given:
    """The samples that the flags of ``sample_arguments`` mean.

    Raises:
        UsageError: two say different things, a file cannot be used, or what is in it does not fit the model.
    """
    if args.data is not None and args.data_loader_script is not None:
        raise UsageError("--data-loader-script: --data brings samples too; leave one of them out")
    if args.data_loader_script is not None:
        return _scripted(program, args.data_loader_script, args.samples)
    if args.data is None:
        if args.samples is not None:
            raise UsageError("--samples: it is about data; give --data too, or --seeds for inputs that are drawn")
        return Given(_drawn(program, args.seeds))
    data = _load(args.data, "--data")
    return Given(_split(program, data, args.data, args.samples), data, f"--data {args.data}")


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

    found = saved_of(_values(path, "--load-outputs"), [o.name or "" for o in program.graph.outputs])
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


def _values(path: Path, flag: str) -> dict[str, Value]:
    from irfuzz.errors import InvalidProgram
    from irfuzz.store.tensors import unpack

    try:
        return unpack(path.read_bytes(), f"{flag} {path}")
    except OSError as error:
        raise UsageError(f"{flag} {path}: {error.strerror}") from None
    except InvalidProgram as error:
        raise UsageError(str(error)) from None


def _load(path: Path, flag: str) -> dict[str, np.ndarray]:
    import numpy as np

    found = {name: _text(v) for name, v in _values(path, flag).items() if isinstance(v, np.ndarray) and v.ndim}
    if not found:
        raise UsageError(f"{flag} {path}: it holds no arrays with an axis of samples")
    return found


def _text(array: np.ndarray) -> np.ndarray:
    """Strings as objects, as irfuzz holds them."""
    return array.astype(object) if array.dtype.kind in "SU" else array


def _split(program: Program, data: Mapping[str, np.ndarray], path: Path, most: int | None) -> list[dict[str, Value]]:
    """The samples of ``--data``: a row is an input as a whole, or its part along a first axis of one."""
    from irfuzz.facts import TensorFact

    wanted = [v for v in program.graph.inputs if v.name not in program.graph.initializers or v.name in data]
    ranks: dict[str, int | None] = {}
    for value in wanted:
        name, fact = value.name or "", program.fact(value)
        if name not in data:
            raise UsageError(f"--data {path}: no array for input {name!r}; it has {', '.join(data)}")
        if not isinstance(fact, TensorFact):
            raise UsageError(f"--data {path}: input {name!r} is no tensor")
        array, expected = data[name], fact.dtype.numpy()
        if fact.dtype.name != "STRING" and array.dtype != expected:
            raise UsageError(f"--data {path}: {name!r} is {array.dtype}, expected {expected}")
        keep = array.ndim == fact.rank
        inner = array.shape[1:]
        sizes = None if fact.shape is None else (fact.shape[1:] if keep else fact.shape)
        fits = sizes is not None and len(sizes) == len(inner)
        fits = fits and all(not isinstance(s, int) or s == n for s, n in zip(sizes or (), inner, strict=True))
        if not fits or (keep and fact.shape and isinstance(fact.shape[0], int) and fact.shape[0] != 1):
            raise UsageError(
                f"--data {path}: {name!r} has shape {list(array.shape)}, expected samples of {list(fact.shape or ())}"
            )
        ranks[name] = 1 if keep else None
    counts = {len(data[name]) for name in ranks}
    if len(counts) != 1 or 0 in counts:
        raise UsageError(f"--data {path}: expected as many samples of each input, got {sorted(counts)}")
    count = min(counts.pop(), most or sys.maxsize)
    return [{n: data[n][i : i + 1] if keep else data[n][i] for n, keep in ranks.items()} for i in range(count)]


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


def check_sample(program: Program, sample: Mapping[str, Value], where: str) -> None:
    """See that values by name are what the model takes.

    Raises:
        UsageError: an input is missing, or of another type or shape.
    """
    import numpy as np

    from irfuzz.facts import TensorFact

    for value in program.graph.inputs:
        name, fact = value.name or "", program.fact(value)
        if name not in sample:
            if name in program.graph.initializers:
                continue
            raise UsageError(f"{where}: no array for input {name!r}; it has {', '.join(sample)}")
        array = sample[name]
        if not isinstance(fact, TensorFact) or not isinstance(array, np.ndarray):
            if isinstance(fact, TensorFact) or isinstance(array, np.ndarray):
                raise UsageError(f"{where}: {name!r} is {type(array).__name__}, expected {value.type or 'a tensor'}")
            continue
        if fact.dtype.name != "STRING" and array.dtype != fact.dtype.numpy():
            raise UsageError(f"{where}: {name!r} is {array.dtype}, expected {fact.dtype.numpy()}")
        if fact.shape is not None and (
            len(fact.shape) != array.ndim
            or any(isinstance(s, int) and s != n for s, n in zip(fact.shape, array.shape, strict=True))
        ):
            raise UsageError(f"{where}: {name!r} has shape {list(array.shape)}, expected {list(fact.shape)}")


def _drawn(program: Program, count: int) -> list[dict[str, Value]]:
    """Inputs of the seeds from 0."""
    from irfuzz.generate.inputs import make_inputs

    return [make_inputs(program, seed) for seed in range(count)]
