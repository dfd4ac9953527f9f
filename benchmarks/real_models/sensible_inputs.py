"""Inputs that a model is made for, drawn from the lines of the list: "TYPE SHAPE KIND ARGUMENTS"."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.real_models.catalogue import Model, chosen, parser

Array = np.ndarray
Draw = Callable[[np.random.Generator, tuple[int, ...], list[str]], Array]


def audio(rng: np.random.Generator, shape: tuple[int, ...], _: list[str]) -> Array:
    """A voice of a kind: harmonics of a gliding tone at 16 kHz under a little noise."""
    count = int(np.prod(shape))
    time = np.arange(count) / 16000
    phase = 2 * np.pi * np.cumsum(120 + 80 * np.sin(2 * np.pi * rng.uniform(1, 3) * time)) / 16000
    tones = sum(np.sin(k * phase + rng.uniform(0, 6)) / k for k in range(1, 6))
    return (0.15 * tones + 0.01 * rng.normal(size=count)).reshape(shape)


KINDS: dict[str, Draw] = {
    "audio": audio,
    "full": lambda rng, shape, arguments: np.full(shape, float(arguments[0])),
    "integers": lambda rng, shape, arguments: rng.integers(int(arguments[0]), int(arguments[1]), shape),
    "normal": lambda rng, shape, arguments: rng.normal(float(arguments[0]), float(arguments[1]), shape),
    "uniform": lambda rng, shape, arguments: rng.uniform(float(arguments[0]), float(arguments[1]), shape),
    "words": lambda rng, shape, arguments: rng.choice(np.array(arguments, dtype=object), shape),
}


def drawn(line: str, rng: np.random.Generator) -> Array:
    """The array that a line stands for."""
    dtype, size, kind, *arguments = line.split()
    shape = () if size == "-" else tuple(int(part) for part in size.split("x"))
    values = KINDS[kind](rng, shape, arguments)
    return np.asarray(values, dtype=object if dtype == "string" else dtype)


def sample(model: Model, number: int) -> dict[str, Array]:
    """One of the model's inputs; the same for the same model and number."""
    rng = np.random.default_rng([zlib.crc32(model.id.encode()), number])
    return {name: drawn(line, rng) for name, line in model.inputs.items()}


def save(model: Model, path: Path, count: int = 3) -> None:
    """An npz that `irfuzz check --data` takes: for each input the samples along a first axis."""
    samples = [sample(model, number) for number in range(count)]
    arrays = {name: np.stack([one[name] for one in samples]) for name in model.inputs}
    np.savez(path, **{name: a.astype(str) if a.dtype == object else a for name, a in arrays.items()})


def main() -> None:
    options = parser(__doc__).parse_args()
    for model in chosen(options)[1]:
        save(model, options.cache / f"{model.id}.npz")


if __name__ == "__main__":
    main()
