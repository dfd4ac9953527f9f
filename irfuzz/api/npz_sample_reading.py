"""Reads samples from files of arrays for a model's inputs; each sample is one run of the model."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from irfuzz.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

    from irfuzz.execute.run_types import Value
    from irfuzz.facts import TensorFact
    from irfuzz.generate.input_spec import InputSpec
    from irfuzz.ir.program import Program

MOST_SAMPLES = 1 << 40
"""Bytes of a file of samples that is read."""


def read_values(path: Path, words: str) -> dict[str, Value]:
    """The values of an npz by name.

    Args:
        path: of the file.
        words: the flag and the file, for messages.

    Raises:
        UsageError: it cannot be read, or is no npz.
    """
    from irfuzz.errors import InvalidProgram
    from irfuzz.frontends.regular_file_opening import read_plain
    from irfuzz.store.npz_tensors import unpack

    try:
        data = read_plain(path, most=MOST_SAMPLES)
    except InvalidProgram as error:
        raise UsageError(f"{words}: {error}") from None
    try:
        return unpack(data, words)
    except InvalidProgram as error:
        raise UsageError(str(error)) from None


def read_array(path: Path, words: str) -> np.ndarray:
    """The array of an npy file. More memory than the file has bytes is not taken, whatever its header says.

    Args:
        path: of the file.
        words: the flag and the file, for messages.

    Raises:
        UsageError: it cannot be read, or is no npy file.
    """
    import numpy as np

    from irfuzz.store.npz_tensors import DAMAGED

    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except DAMAGED as error:
        raise UsageError(f"{words}: not an npy file: {str(error) or type(error).__name__}") from None
    if not isinstance(found, np.ndarray):
        raise UsageError(f"{words}: not an npy file of one array, but an npz of several")
    return np.array(found)


def arrays_in(values: Mapping[str, Value], words: str) -> dict[str, np.ndarray]:
    """The tensors among the values of an npz, strings as objects.

    Raises:
        UsageError: there are none, nor lists of them.
    """
    import numpy as np

    found = {name: _text(value) for name, value in values.items() if isinstance(value, np.ndarray)}
    if not found and not any(isinstance(value, list) for value in values.values()):
        raise UsageError(f"{words}: it holds no arrays")
    return found


def listed_samples(program: Program, values: Mapping[str, Value], words: str) -> list[dict[str, Value]] | None:
    """The samples of inputs that differ in shape, as ``--save-inputs`` writes them; ``None`` if no input is a list.

    Args:
        program: of the model; inputs with a default may be missing.
        values: by name: of an input a list with an entry a sample, or an array with a row a sample.
        words: the flag and the file, for messages.

    Raises:
        UsageError: an input is missing, or has another type, shape or number of samples.
    """
    rows = {v.name or "": values[v.name or ""] for v in program.graph.inputs if v.name in values}
    if not any(isinstance(row, list) for row in rows.values()):
        return None
    counts = {name: 0 if row is None else len(row) for name, row in rows.items()}
    count = max(counts.values())
    short = next((name for name, own in counts.items() if own != count), None)
    if short is not None:
        raise UsageError(f"{words}: {short!r} has {counts[short]} samples, others have {count}")
    samples = [{name: _row(row, number) for name, row in rows.items()} for number in range(count)]
    for number, sample in enumerate(samples):
        check_sample(program, sample, f"{words}: sample {number}")
    return samples


def _row(rows: Value, number: int) -> Value:
    import numpy as np

    assert rows is not None
    row = rows[number]
    return _text(np.asarray(row)) if isinstance(row, np.ndarray | np.generic) else row


def _text(array: np.ndarray) -> np.ndarray:
    """Strings as objects, as irfuzz holds them."""
    return array.astype(object) if array.dtype.kind in "SU" else array


def samples_of(
    program: Program, data: Mapping[str, np.ndarray], words: str, most: int | None = None
) -> list[dict[str, Value]]:
    """The samples in arrays by input.

    A row of the first axis is an input as a whole, or, if the array has the input's rank, its part along a first axis
    of one. If the arrays are the inputs themselves, there is one sample.

    Args:
        program: of the model; inputs with a default may be missing.
        data: arrays; other names than those of inputs are left alone.
        words: the flag and the file, for messages.
        most: take the first so many.

    Raises:
        UsageError: an input is missing, or has another type, shape or number of samples.
    """
    from irfuzz.ir.fact_type_conversion import render

    wanted = [v for v in program.graph.inputs if v.name not in program.graph.initializers or v.name in data]
    facts = {value.name or "": _fact(program, value, data, words) for value in wanted}
    rows = {name: _rows(fact, data[name]) for name, fact in facts.items()}
    bad = next((name for name, kind in rows.items() if kind is None), None)
    counts = {len(data[name]) for name, kind in rows.items() if kind}
    if bad is not None or len(counts) != 1 or 0 in counts:
        if 0 not in counts and _are_one(facts, data):
            return [{name: data[name] for name in facts}]
        if bad is not None:
            got, expected = list(data[bad].shape), render(facts[bad].shape)
            raise UsageError(f"{words}: {bad!r} has shape {got}, expected samples of {expected}, or one of them")
        if counts == {0}:
            raise UsageError(f"{words}: expected at least one sample, got arrays without rows")
        raise UsageError(f"{words}: expected as many samples of each input, got {sorted(counts)}")
    count = min(counts.pop(), most or sys.maxsize)
    return [{n: data[n][i : i + 1] if kind == "part" else data[n][i] for n, kind in rows.items()} for i in range(count)]


def _fact(program: Program, value: object, data: Mapping[str, np.ndarray], words: str) -> TensorFact:
    """The type of an input of which there is an array of that type.

    Raises:
        UsageError: there is none.
    """
    from irfuzz.facts import TensorFact

    name, fact = value.name or "", program.fact(value)  # type: ignore[attr-defined]
    if name not in data:
        raise UsageError(f"{words}: no array for input {name!r}; it has {', '.join(data)}")
    if not isinstance(fact, TensorFact):
        raise UsageError(f"{words}: input {name!r} is no tensor")
    if fact.dtype.name != "STRING" and data[name].dtype != fact.dtype.numpy():
        raise UsageError(f"{words}: {name!r} is {data[name].dtype}, expected {fact.dtype.numpy()}")
    return fact


def _rows(fact: TensorFact, array: np.ndarray) -> str | None:
    """What a row of an array is: the ``whole`` input, a ``part`` of it along its first axis, or nothing that fits."""
    if fact.shape is None or not array.ndim:
        return None
    keep = array.ndim == fact.rank
    sizes, inner = fact.shape[1:] if keep else fact.shape, array.shape[1:]
    if len(sizes) != len(inner) or any(isinstance(s, int) and s != n for s, n in zip(sizes, inner, strict=True)):
        return None
    if keep and isinstance(fact.shape[0], int) and fact.shape[0] != 1:
        return None
    return "part" if keep else "whole"


def check_sizes(program: Program, samples: Sequence[Mapping[str, Value]], spec: InputSpec, words: str) -> None:
    """See that samples have the sizes that are said, and one size for each name of a dimension.

    Raises:
        UsageError: one has not.
    """
    import numpy as np

    from irfuzz.facts import TensorFact

    for number, sample in enumerate(samples):
        sizes = dict(spec.sizes)
        for value in program.graph.inputs:
            name, fact, array = value.name or "", program.fact(value), sample.get(value.name or "")
            if not isinstance(array, np.ndarray) or not isinstance(fact, TensorFact) or fact.shape is None:
                continue
            wanted = spec.shapes.get(name, (None,) * array.ndim)
            for axis, (size, said, got) in enumerate(zip(fact.shape, wanted, array.shape, strict=True)):
                expected = sizes.setdefault(size, got) if isinstance(size, str) else said
                if expected is not None and expected != got:
                    what = f"axis {axis}" + (f" ({size})" if isinstance(size, str) else "")
                    why = "is said to be" if said is not None or size in spec.sizes else "is in another input"
                    where = f"{words}: sample {number}: {name!r} has shape {list(array.shape)}"
                    raise UsageError(f"{where}; {what} {why} {expected}")


def _are_one(facts: Mapping[str, TensorFact], data: Mapping[str, np.ndarray]) -> bool:
    """Whether arrays are the inputs as they are: each fits, and dimensions of one name have one size."""
    sizes: dict[str, int] = {}
    for name, fact in facts.items():
        if not _whole(fact, data[name]):
            return False
        for size, number in zip(fact.shape or (), data[name].shape, strict=fact.shape is not None):
            if isinstance(size, str) and sizes.setdefault(size, number) != number:
                return False
    return True


def _whole(fact: TensorFact, array: np.ndarray) -> bool:
    """Whether an array is one input as it is."""
    if fact.shape is None:
        return True
    return len(fact.shape) == array.ndim and all(
        not isinstance(s, int) or s == n for s, n in zip(fact.shape, array.shape, strict=True)
    )


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
        if not _whole(fact, array):
            raise UsageError(f"{where}: {name!r} has shape {list(array.shape)}, expected {list(fact.shape or ())}")
