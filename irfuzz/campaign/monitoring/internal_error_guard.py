"""A fault of irfuzz itself costs one program of a campaign; it is counted and kept with the models it shows on."""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from irfuzz.campaign.monitoring.internal_error_folders import INTERNAL, InternalErrorStore, kind_of, text_of
from irfuzz.errors import UsageError
from irfuzz.ir.program import Program
from irfuzz.store.database import Database

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG})


class InternalErrorGuard:
    """A context manager for the work on one program; call it with what is worked on, then enter it.

    Args:
        out: folder of the campaign.
        database: of the campaign.
        about: JSON-able; tells which job of which campaign this is.
        counts: of the job.
        say: called with one line for each fault that is kept.

    Attributes:
        parent: of the program that is being made, for whoever wants to see the fault again.
        mutant: the program, once it is made.
    """

    def __init__(
        self, out: Path, database: Database, about: dict[str, int], counts: Counter[str], say: Callable[[str], None]
    ) -> None:
        self._out = out
        self._programs = database.programs
        self._faults = InternalErrorStore(out / "internal", database.blobs)
        self._about = about
        self._counts = counts
        self._say = say
        self._iteration = 0
        self._case: Callable[[], bytes | None] = lambda: None
        self.parent: Program | None = None
        self.mutant: Program | None = None

    def __call__(
        self,
        iteration: int,
        parent: Program | None = None,
        mutant: Program | None = None,
        case: Callable[[], bytes | None] = lambda: None,
    ) -> Self:
        """What is worked on; ``case`` gives the model of a stored disagreement, if one is looked into."""
        self._iteration, self.parent, self.mutant, self._case = iteration, parent, mutant, case
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """End the work; a fault of our own goes no further.

        Raises:
            UsageError: the folder can no longer be written.
        """
        if not isinstance(error, Exception) or isinstance(error, UsageError):
            return False  # the disk is full, or a worker no longer starts: no program's fault
        if isinstance(error, OSError) and (error.errno in _FULL or not self._out.is_dir()):
            raise UsageError(f"--out {self._out}: cannot be written: {error.strerror}") from error
        self._counts[INTERNAL] += 1
        models = {
            "parent.onnx": self._bytes_of(self.parent),
            "mutant.onnx": self._bytes_of(self.mutant),
            "case.onnx": self._case(),
        }
        about = {**self._about, "iteration": self._iteration}
        place = self._faults.keep(text_of(error), kind_of(error), about=about, models=models)
        if place is not None:
            self._say(f"iteration {self._iteration}: {type(error).__name__}; kept in {place}")
        return True

    def _bytes_of(self, program: Program | None) -> bytes | None:
        """The program's bytes, or none if it cannot be written: a fault of irfuzz is being reported already."""
        try:
            return None if program is None else self._programs.whole(program)
        except Exception:  # noqa: BLE001 - see above
            return None
