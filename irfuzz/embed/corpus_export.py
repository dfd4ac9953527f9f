"""Writes a corpus of small models, from a folder of seeds, for any fuzzer to begin with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from irfuzz.choices import Choices
from irfuzz.embed.single_call_model import OPSET, single_call
from irfuzz.errors import UsageError
from irfuzz.spec import load_specs

DRAWS = 8
"""Calls drawn of an operator before it is left out (sequences, strings)."""


def export_corpus(
    seeds: Path,
    folder: Path,
    *,
    max_bytes: int = 20_000,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda done, all_of: None,
) -> list[Path]:
    """Write a corpus of models: the seeds that are small enough, and one valid call of each operator.

    Args:
        seeds: folder of ``.onnx`` files.
        folder: made if it is missing; must hold no file yet.
        max_bytes: of one model. Fuzzers are quick on small inputs, and most give up above a megabyte.
        seed: of the operators' calls.
        progress: is told how many operators of how many have their call.

    Returns:
        The files written, in the order of their names.

    Raises:
        UsageError: the folder is not empty, or cannot be written; the seeds cannot be read; or nothing is that small.
    """
    if not seeds.is_dir():
        raise UsageError(f"{seeds}: expected a folder of seeds")
    if folder.is_dir() and any(folder.iterdir()):
        raise UsageError(f"{folder}: expected an empty or a new folder")
    try:
        found = {path.name: path.read_bytes() for path in sorted(seeds.glob("*.onnx")) if path.is_file()}
    except OSError as error:
        raise UsageError(f"{error.filename or seeds}: cannot be read: {error.strerror}") from None
    specs = load_specs()
    wanted = list(specs.overlaid(OPSET))
    for place, spec in enumerate(wanted):
        progress(place, len(wanted))
        for number in range(DRAWS):
            call = single_call(spec, OPSET, Choices.from_seed(f"{seed}:{spec.op}:{number}"), seed)
            if call is not None:
                found[f"one-{spec.op}.onnx"] = call.SerializeToString()
                break
    written = [folder / name for name, data in sorted(found.items()) if len(data) <= max_bytes]
    if not written:
        least = min(map(len, found.values()))
        raise UsageError(f"--max-bytes {max_bytes}: no model is so small; the smallest has {least} bytes")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in written:
            path.write_bytes(found[path.name])
    except OSError as error:
        raise UsageError(f"--out {folder}: cannot be written: {error.strerror or error}") from None
    return written
