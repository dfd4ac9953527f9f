"""The flags of ``irfuzz check`` that say how many inputs are drawn, or which script makes them."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from irfuzz.api.default_settings import DRAWN
from irfuzz.cli.parser import Parser, place, whole
from irfuzz.errors import UsageError
from irfuzz.report.terminal_text_cleaning import one_line

if TYPE_CHECKING:
    import numpy as np

    from irfuzz.api.input_settings_merging import InputSettings
    from irfuzz.api.loaded_model import LoadedModel
    from irfuzz.execute.run_types import Value
    from irfuzz.ir.program import Program

FUNCTION = "load_data"
"""Of a ``--data-loader-script`` of which no function is named, as Polygraphy has it."""


def sample_arguments(parser: Parser) -> None:
    """Declare ``--data-loader-script`` and ``--seeds``, beside those of ``input_flags``, which the command has to
    declare, too.
    """
    add = parser.add_argument
    add(
        "--data-loader-script", metavar="FILE.py[:FUNCTION]", type=place,
        help=f"Python whose FUNCTION (default: {FUNCTION}) gives a dict for each sample: arrays by input name.",
    )  # fmt: skip
    add("--seeds", metavar="N", type=whole(1), help=f"Inputs that are drawn without data (default: {DRAWN}).")


def drawn(args: argparse.Namespace) -> int | None:
    """How many inputs ``--seeds`` asks for; ``None`` if it is not given, or a flag brings samples."""
    return args.seeds if args.data is None and args.data_loader_script is None else None


def with_samples(args: argparse.Namespace, model: LoadedModel) -> LoadedModel:
    """The model with the samples of ``--data-loader-script``, if it is given.

    Raises:
        UsageError: ``--data`` is given too, the script cannot be used, or what it gives does not fit the model.
    """
    script: Path | None = args.data_loader_script
    if script is None:
        return model
    if args.data is not None:
        raise UsageError("--data-loader-script: --data brings samples too; leave one of them out")
    return replace(model, said=_scripted(model.program, model.said, script, args.samples))


def _scripted(program: Program, said: InputSettings, place: Path, most: int | None) -> InputSettings:
    """The samples that a function of the user's gives, in a process of its own."""
    import numpy as np

    from irfuzz.api.npz_sample_reading import check_sample
    from irfuzz.errors import InvalidProgram
    from irfuzz.frontends.framework_conversion import Converters
    from irfuzz.frontends.model_kind_detection import FACTORY

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
    spec = replace(said.spec, samples=rows)
    return replace(said, spec=spec, more={n: np.stack(v) for n, v in beside.items()}, data=flag)
