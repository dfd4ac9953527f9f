"""Targets that answer with the arrays that an earlier check saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from irfuzz.execute.run_types import Exit, RunResult, Stage, Target, Value

PREFIX = "saved:"
"""Of the names of such targets."""


@dataclass(frozen=True, slots=True)
class SavedOutputs:
    """What a target of an earlier check computed.

    Attributes:
        target: ``saved:`` and its name then; of the same component, so that it is no witness for itself.
        outputs: by name, a row or an item a sample.
    """

    target: Target
    outputs: Mapping[str, Sequence[Value]]

    @property
    def count(self) -> int:
        """How many samples there are of every output."""
        return min(map(len, self.outputs.values()))

    def result(self, number: int) -> RunResult:
        """What it computed on one sample, as a run that went through.

        Args:
            number: of the sample, from 0.

        Raises:
            IndexError: there are fewer.
        """
        return RunResult(self.target, Stage.RUN, Exit.OK, {name: rows[number] for name, rows in self.outputs.items()})


def saved_of(arrays: Mapping[str, Value], outputs: Sequence[str]) -> list[SavedOutputs]:
    """The targets in a file with arrays ``TARGET/OUTPUT``.

    Args:
        arrays: by that name.
        outputs: of the model; what else is in the file is left out, and targets that lack one are.
    """
    found: dict[str, dict[str, Sequence[Value]]] = {}
    for key, rows in arrays.items():
        name = max((o for o in outputs if key.endswith(f"/{o}")), key=len, default=None)
        if name is not None and rows is not None and len(target := key[: -len(name) - 1]):
            found.setdefault(target, {})[name] = list(rows)
    return [
        SavedOutputs(Target(f"{PREFIX}{name}", name.partition(":")[0].partition("@")[0]), rows)
        for name, rows in found.items()
        if set(outputs) == set(rows)
    ]
