"""What a user says of a seed's inputs, kept in the campaign: it survives a run, and reaches mutants and jobs.

Sizes and ranges are in the metadata of the stored seed and so of its mutants. Samples lie in the campaign's folder;
jobs run the seed on them, and about half of its mutants on one of them, as it is or varied.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from irfuzz.campaign.config import Layout
from irfuzz.choices import Choices
from irfuzz.errors import UsageError
from irfuzz.facts import TensorFact
from irfuzz.generate.input_spec import InputSpec
from irfuzz.generate.input_values import Value, make_inputs
from irfuzz.ir.program import Program
from irfuzz.store.database import Database
from irfuzz.store.npz_tensors import pack, unpack

KEY = "inputs"
"""Setting: by the digest of a seed as it was given, what is said of its inputs."""

MOST_ALONE = 8
"""On so many of its samples a seed runs as it is."""

SHARE = 0.5
"""Share of a seed's mutants that run on a sample, and of these the share that runs on a varied one."""

MOVED = (0.02, 0.1, 0.5, 1.0)
"""Shares of an input's elements that a variation moves."""

Sample = Mapping[str, Value]


def remember(database: Database, layout: Layout, name: str, program: Program, spec: InputSpec, given: str) -> bool:
    """Write down what is said of a seed's inputs, for later runs.

    Args:
        database: of the campaign.
        layout: of its folder; that of samples is there, if there are some.
        name: file name of the seed.
        program: the seed, with what is said in the metadata of its inputs.
        spec: what is said now; nothing, if the campaign has the seed, leaves what was said before.
        given: digest of the seed before anything was written into it.

    Returns:
        Whether the campaign has to take the seed in.

    Raises:
        UsageError: the campaign has the seed with other inputs.
    """
    stored: dict[str, Any] = json.loads(database.settings().get(KEY) or "{}")
    data = pack({n: [s[n] for s in spec.samples] for n in spec.samples[0]}) if spec.samples else b""
    said = _told(spec, data)
    before = stored.get(given)
    if before is None and not spec:
        return True
    known = before is not None or database.holds(given) or database.holds(program.digest)
    if known and spec and (before is None or before["said"] != said):
        earlier = "nothing said of its inputs" if before is None else _words(before["said"])
        raise UsageError(
            f"{name}: {layout.out} holds this seed with {earlier}; now it is given with {_words(said)}: say the same "
            "or nothing to continue, or use another --out"
        )
    if known:
        return False
    if data:
        (layout.samples / f"{program.digest}.npz").write_bytes(data)
    stored[given] = {"name": name, "seed": program.digest, "said": said}
    database.set(KEY, json.dumps(stored))
    return True


def _told(spec: InputSpec, data: bytes) -> dict[str, Any]:
    """A specification as JSON-able data, with the digest of its samples."""
    return {
        "shapes": {name: list(shape) for name, shape in spec.shapes.items()},
        "sizes": dict(spec.sizes),
        "ranges": {name: list(ends) for name, ends in spec.ranges.items()},
        "samples": len(spec.samples),
        "data": hashlib.sha256(data).hexdigest() if data else "",
    }


def _words(said: Mapping[str, Any]) -> str:
    words = [f"{name}:{'x'.join(map(str, shape))}" for name, shape in said["shapes"].items()]
    words += [f"{name}={size}" for name, size in said["sizes"].items()]
    words += [f"{name}={low:g},{high:g}" for name, (low, high) in said["ranges"].items()]
    words += [f"{said['samples']} samples ({said['data'][:8]})"] if said["data"] else []
    return ", ".join(words) or "nothing said of its inputs"


class SeedSamples:
    """The samples of a campaign's seeds, as one job uses them.

    Args:
        database: of the campaign.
        layout: of its folder.

    Raises:
        UsageError: a file of samples is gone.
    """

    def __init__(self, database: Database, layout: Layout) -> None:
        stored: dict[str, Any] = json.loads(database.settings().get(KEY) or "{}")
        self._samples: dict[str, list[Sample]] = {}
        for entry in stored.values():
            path = layout.samples / f"{entry['seed']}.npz"
            if entry["said"]["data"]:
                self._samples.setdefault(entry["name"], []).extend(_read(path))

    def of(self, seed: str) -> Sequence[Sample]:
        """Those of a seed by its file name, in order; empty if it has none."""
        return self._samples.get(seed, ())

    def alone(self, seeds: Sequence[str]) -> list[tuple[int, int]]:
        """The runs of seeds as they are: the place of the seed and the number of its sample.

        Each seed comes once before any comes again. A seed without samples comes once, with number 0.
        """
        counts = [max(1, min(MOST_ALONE, len(self.of(seed)))) for seed in seeds]
        return [(p, n) for n in range(max(counts, default=0)) for p, count in enumerate(counts) if n < count]

    def inputs(
        self,
        program: Program,
        sample: Sample,
        seed: int,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        vary: Choices | None = None,
    ) -> dict[str, Value] | None:
        """Inputs with those of a sample that fit; the others are drawn.

        Args:
            program: the seed or a mutant of it.
            sample: of the seed.
            seed: of what is drawn.
            ranges: of what is drawn.
            vary: decides how the sample is varied; as it is if omitted.

        Returns:
            ``None`` if no input of the program has the name, type and rank of one in the sample.

        Raises:
            Unsupported: an input that is missing cannot be made.
        """
        dims: dict[str, int] = {}
        fitting: dict[str, np.ndarray] = {}
        for value in program.graph.inputs:
            fact, array = program.fact(value), sample.get(value.name or "")
            if isinstance(fact, TensorFact) and isinstance(array, np.ndarray):
                sizes = _fit(fact, array, dims)
                if sizes is not None:
                    dims, fitting[value.name or ""] = sizes, array
        if not fitting:
            return None
        if vary is not None:
            rng = np.random.default_rng(vary.seed())
            fitting = {name: varied(array, rng) for name, array in fitting.items()}
        return {**make_inputs(program, seed, ranges=ranges, dims=dims), **fitting}

    def give(
        self,
        seed: str,
        program: Program,
        alone: int | None,
        number: int,
        choices: Choices,
        ranges: Mapping[str, tuple[float, float]] | None = None,
    ) -> dict[str, Value] | None:
        """Inputs from a sample, for a seed as it is, and now and then for a mutant.

        Args:
            seed: file name of the seed.
            program: it, or a mutant of it.
            alone: number of the sample for the seed itself; ``None`` for a mutant.
            number: seed of what is drawn.
            choices: decide about mutants.
            ranges: of what is drawn.

        Returns:
            ``None`` if the inputs are to be drawn.

        Raises:
            Unsupported: an input that the sample lacks cannot be made.
        """
        samples = self.of(seed)
        if not samples:
            return None
        if alone is not None:
            return self.inputs(program, samples[alone % len(samples)], number, ranges)
        if not choices.boolean(SHARE):
            return None
        sample = samples[choices.integer(0, len(samples) - 1)]
        return self.inputs(program, sample, number, ranges, choices if choices.boolean(SHARE) else None)


def _read(path: Any) -> list[Sample]:
    try:
        columns = unpack(path.read_bytes(), str(path))
    except OSError as error:
        raise UsageError(f"{path}: the samples of a seed cannot be read: {error.strerror}") from None
    rows = {name: column for name, column in columns.items() if isinstance(column, list)}
    return [{name: column[i] for name, column in rows.items()} for i in range(min(map(len, rows.values()), default=0))]


def _fit(fact: TensorFact, array: np.ndarray, dims: Mapping[str, int]) -> dict[str, int] | None:
    """Sizes of named dimensions if an input is to have an array; ``None`` if it cannot."""
    text = fact.dtype.name == "STRING"
    if fact.shape is None or len(fact.shape) != array.ndim or text != (array.dtype.kind == "O"):
        return None
    if not text and fact.dtype.numpy() != array.dtype:
        return None
    found = dict(dims)
    for size, number in zip(fact.shape, array.shape, strict=True):
        if size is None:
            if number != 1:
                return None  # what is drawn for the others takes an unknown size as one
        elif (found.setdefault(size, number) if isinstance(size, str) else size) != number:
            return None
    return found


def varied(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An array like another: some elements become other ones of it, or floats move by a part of their spread.

    Every element stays between the smallest and the largest, and integers, booleans and strings stay among those that
    are there, so that what is valid for indices, lengths and states is kept.
    """
    if not array.size:
        return array
    moved = rng.random(array.shape) < rng.choice(MOVED)
    if array.dtype.kind == "f" and rng.random() < 0.5:
        wide = array.astype(np.float64)
        spread = float(np.nanstd(wide)) if np.isfinite(wide).all() else 0.0
        noisy = wide + moved * rng.standard_normal(array.shape) * spread * 0.1
        return np.clip(noisy, wide.min(), wide.max()).astype(array.dtype) if spread else array
    others = array.reshape(-1)[rng.integers(0, array.size, array.shape)]
    return np.where(moved, others, array).astype(array.dtype).reshape(array.shape)
