"""Reads the seeds that agents of a fleet are given, with what the project's file says of their inputs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from irfuzz.cli.model_reading_and_output_checks import seeds_of
from irfuzz.cli.progress_display import remarked

if TYPE_CHECKING:
    from irfuzz.api.loaded_model import LoadedModel


def fleet_seeds(paths: Sequence[Path], targets: Sequence[str] | None = None) -> list[LoadedModel]:
    """The models among files and folders; none if there are no paths.

    Samples of a model's inputs are not read: they would stay on one machine.

    Args:
        paths: files and folders.
        targets: names of what runs them, if anything does.

    Raises:
        UsageError: paths are given and no model loads.
    """
    from irfuzz.api.input_settings_merging import RequestedInputs, said_of
    from irfuzz.api.loaded_model import LoadedModel
    from irfuzz.api.target_selection import run_layers

    if not paths:
        return []
    loaded = seeds_of(paths, to_run=True, layers=run_layers(targets))
    said = said_of(loaded, RequestedInputs(takes_data=False), remarked)
    return [LoadedModel(str(path), program, said[path], path) for path, program in loaded.items()]
