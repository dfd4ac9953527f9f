"""The flags that say what a model's inputs are, and ``irfuzz.toml``, which says it once.

Every command that draws inputs declares them with ``input_arguments`` and reads them with ``inputs_said``, so that they
mean the same everywhere. ``annotated`` (``irfuzz/generate/graph_inputs/input_annotation.py``) then writes them into the
program.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from irfuzz.cli.model_reading_and_output_checks import one_model
from irfuzz.cli.parser import Parser, place, whole
from irfuzz.cli.progress_display import remarked
from irfuzz.errors import UsageError

if TYPE_CHECKING:
    from irfuzz.api.input_settings_merging import InputSettings
    from irfuzz.api.loaded_model import LoadedModel
    from irfuzz.generate.graph_inputs.user_input_claims import Claims
    from irfuzz.ir.program import Program

SHAPE = re.compile(r"(?P<name>.+):(?P<sizes>\[[-\d,\s]*\]|-?\d+(?:[xX,]-?\d+)*)")
SIZE = re.compile(r"(?P<name>.+)=(?P<size>-?\d+)")


def input_arguments(parser: Parser, *, data: str, weights: bool = False, most: int | None = None) -> None:
    """``--input-shapes``, ``--size``, ``--range``, ``--ranges``, ``--data`` and ``--samples``.

    Args:
        parser: of the command.
        data: what the command does with samples, a sentence; empty if it has a flag of its own for them.
        weights: ranges may be those of initializers.
        most: how many samples are taken unless somebody says so; ``None`` for all.
    """
    add = parser.add_argument
    add(
        "--input-shapes", metavar="NAME:SHAPE", action="append", default=[], type=one_shape,
        help="Whole shape of an input: image:1x3x48x160 or image:[1,3,48,160]. Several, or repeat it.",
    )  # fmt: skip
    add(
        "--size", metavar="DIM=N", action="append", default=[], type=one_size,
        help="Size of a named dimension: H=48. Several, or repeat it.",
    )  # fmt: skip
    parser.several |= {"--input-shapes": SHAPE, "--size": SIZE}
    add(
        "--range", metavar="NAME=LO,HI", action="append", default=[], dest="given", type=one_range,
        help=f"Lowest and highest element of an input{' or initializer' if weights else ''}; repeat it.",
    )  # fmt: skip
    add("--ranges", metavar="FILE", type=place, help="The same as TOML: NAME = [LO, HI] lines.")
    if not data:
        return
    add(
        "--data", "--load-inputs", metavar="FILE", type=place,
        help=f"An npz: for each input an array whose rows are samples, or one sample. {data}",
    )  # fmt: skip
    usual = "all" if most is None else str(most)
    add("--samples", metavar="N", type=whole(1), help=f"Take the first N samples of the data. Default: {usual}.")
    parser.set_defaults(most_samples=most)


def one_shape(text: str) -> tuple[str, tuple[int, ...]]:
    """The type of ``--input-shapes``: ``image:1x3x48x160`` or ``image:[1,3,48,160]`` gives
    ``("image", (1, 3, 48, 160))``.

    Raises:
        argparse.ArgumentTypeError: it is no such word, or a size is below 1.
    """
    found = SHAPE.fullmatch(text)
    sizes = () if found is None else tuple(int(size) for size in re.findall(r"-?\d+", found["sizes"]))
    if found is None:
        raise argparse.ArgumentTypeError(f"expected NAME:1x3x48x160 or NAME:[1,3,48,160], got {text!r}")
    if any(size < 1 for size in sizes):
        raise argparse.ArgumentTypeError(f"{found['name']!r}: expected sizes of at least 1, got {found['sizes']}")
    return found["name"], sizes


def one_size(text: str) -> tuple[str, int]:
    """The type of ``--size``: ``H=48`` gives ``("H", 48)``.

    Raises:
        argparse.ArgumentTypeError: it is no such word, or the size is below 1.
    """
    found = SIZE.fullmatch(text)
    if found is None or int(found["size"]) < 1:
        raise argparse.ArgumentTypeError(f"expected DIM=N with N of at least 1, got {text!r}")
    return found["name"], int(found["size"])


def one_range(text: str) -> tuple[str, tuple[float, float]]:
    """The type of ``--range``: ``x=-1,1`` gives ``("x", (-1.0, 1.0))``; the ends may be equal, or infinite.

    Raises:
        argparse.ArgumentTypeError: it is no such word, or the ends are in the wrong order.
    """
    name, _, ends = text.rpartition("=")
    try:
        low, high = (float(e) for e in ends.split(","))
    except ValueError:
        low = high = math.nan
    if not name or not low <= high:
        raise argparse.ArgumentTypeError(f"expected NAME=LO,HI with LO <= HI, got {text!r}")
    return name, (low, high)


def inputs_said(
    args: argparse.Namespace, programs: Mapping[Path, Program], *, weights: bool = False
) -> dict[Path, InputSettings]:
    """What flags and the ``irfuzz.toml`` of each model say of its inputs; flags go before the file.

    Args:
        args: of a command that has ``input_arguments``.
        programs: of the models.
        weights: ranges may be those of initializers.

    Raises:
        UsageError: a file cannot be read, none of the models has a name, or something contradicts the model.
    """
    from irfuzz.api.input_settings_merging import RequestedInputs, said_of

    wanted = RequestedInputs(
        _claims(args),
        getattr(args, "data", None),
        takes_data=hasattr(args, "data"),
        samples=getattr(args, "samples", None),
        most=getattr(args, "most_samples", None),
        weights=weights,
    )
    found = said_of(programs, wanted, remarked)
    script = getattr(args, "data_loader_script", None)
    if wanted.samples is not None and script is None and not any(said.data for said in found.values()):
        raise UsageError("--samples: it is about data; give --data too")
    return found


def given_model(
    args: argparse.Namespace,
    path: Path | None = None,
    *,
    to_run: bool = False,
    weights: bool = False,
    architecture: bool = False,
    layers: bool = False,
) -> LoadedModel:
    """The model of a command that takes one, with what is said of its inputs.

    Args:
        args: of the command.
        path: of the model, if that is not ``args.model``.
        to_run: see ``seeds_of``.
        weights: ranges may be those of initializers.
        architecture: see ``load_seed``.
        layers: see ``seeds_of``.

    Raises:
        UsageError: as ``one_model`` and ``inputs_said``.
    """
    from irfuzz.api.loaded_model import LoadedModel

    path, program = one_model(path or args.model, to_run=to_run, architecture=architecture, layers=layers)
    return LoadedModel(str(path), program, inputs_said(args, {path: program}, weights=weights)[path], path)


def said_by_flags(args: argparse.Namespace) -> bool:
    """Whether a flag of ``input_arguments`` is given that says what inputs are (``--samples`` does not).

    Args:
        args: of a command that declared them.
    """
    return bool(args.input_shapes or args.size or args.given or args.ranges or getattr(args, "data", None))


def _claims(args: argparse.Namespace) -> Claims:
    from irfuzz.frontends.project_file import read_ranges
    from irfuzz.frontends.toml_file_reading import read_toml
    from irfuzz.generate.graph_inputs.user_input_claims import Claim, Claims

    path: Path | None = args.ranges
    ranges: dict[str, Claim[tuple[float, float]]] = {}
    if path is not None:
        entries = read_ranges(read_toml(path, f"--ranges {path}"), f"--ranges {path}")
        ranges = {name: Claim(name, ends, f"--ranges {path}: {name}") for name, ends in entries.items()}
    ranges |= {name: Claim(name, ends, f"--range {name}") for name, ends in args.given}
    return Claims(
        [Claim(n, shape, f"--input-shapes {n}:{'x'.join(map(str, shape)) or '[]'}") for n, shape in args.input_shapes],
        [Claim(name, size, f"--size {name}={size}") for name, size in args.size],
        list(ranges.values()),
    )
