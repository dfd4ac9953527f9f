"""A folder that remembers how far a reduction has come: its best case, and which candidates are of no interest."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path

from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.execute.run_types import Value
from irfuzz.ir.program import Program
from irfuzz.reduce.session import Reduced
from irfuzz.store.npz_tensors import pack, unpack

SCHEMA = 1
FAILED = "failed.txt"
STATE = "state.json"
LOCK = "lock"
CANDIDATE = "candidate-"
"""How folders begin in which candidates are looked at."""


def worthless(folder: Path) -> bool:
    """Whether nothing lies in a reduction's folder that another call would go on from: no best case, and no candidate
    that failed to interest.

    A folder that does not exist is worthless.
    """
    failed = folder / FAILED
    return not any(folder.glob("best-*")) and not (failed.exists() and failed.stat().st_size)


def _digest(program: Program, inputs: Mapping[str, Value]) -> str:
    return hashlib.sha256(program.to_bytes() + pack(inputs)).hexdigest()


class ReductionState:
    """The folder of one reduction. ``kill -9`` at any moment loses at most the candidates in flight.

    Args:
        folder: made if missing.
        program: the case as it was given.
        inputs: its inputs.
        question: what is asked of candidates; an answer to another one is worth nothing.

    Attributes:
        program: the best case so far.
        inputs: its inputs.
        skip: digests of candidates that are known not to be interesting.
        tries: calls of the predicate so far, over all runs.
        complete: nothing makes it smaller.
        continued: there was a reduction in the folder.

    Raises:
        UsageError: it cannot be written, another process works there, or it is about another case or question.
    """

    def __init__(self, folder: Path, program: Program, inputs: Mapping[str, Value], question: str) -> None:
        self._folder = folder
        self.program, self.inputs = program, dict(inputs)
        self.skip: set[bytes] = set()
        self.tries, self.complete, self._best = 0, False, 0
        self._about = {"schema": SCHEMA, "case": _digest(program, inputs), "question": question}
        self.continued = (folder / STATE).exists()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = (folder / LOCK).open("a")
            self._take(folder)
            if self.continued:
                try:
                    self._read()
                except UsageError:
                    self._lock.close()
                    raise
            else:
                self._write()
            self._failed = (folder / FAILED).open("a")
        except OSError as error:
            raise UsageError(f"{folder}: cannot be written: {error.strerror}") from None

    def close(self) -> None:
        """Give the files back, and let other processes work in the folder; the files stay."""
        self._failed.close()
        self._lock.close()

    def _take(self, folder: Path) -> None:
        """Be the only one here, without what one that was killed has left behind."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise UsageError(
                f"{folder}: another irfuzz process is reducing there; wait for it or use another --out"
            ) from None
        for left in folder.glob(f"{CANDIDATE}*"):
            shutil.rmtree(left, ignore_errors=True)

    def saw(self, key: bytes, best: Reduced | None) -> None:
        """Remember a candidate, as ``OnTry``; what is written survives a kill at once.

        Args:
            key: its digest; of a candidate that is not interesting it is appended to ``failed.txt``.
            best: the best case, if the candidate is that now; its files replace the older ones.
        """
        self.tries += 1
        if best is not None:
            self.keep(best)
        else:
            self._failed.write(f"{key.hex()}\n")
            self._failed.flush()

    def keep(self, best: Reduced) -> None:
        """Remember the best case, and whether nothing makes it smaller.

        Its model and inputs are written as new files; those of the older one are removed after the state names the new
        ones.

        Args:
            best: becomes ``program``, ``inputs`` and ``complete`` of the state; its tries are not used.
        """
        self.program, self.inputs, self.complete = best.program, dict(best.inputs), best.complete
        self._keep()

    def _keep(self) -> None:
        old, self._best = self._best, self._best + 1
        self._file("onnx").write_bytes(self.program.to_bytes())
        self._file("npz").write_bytes(pack(self.inputs))
        self._write()  # only now is the new one the best
        for ending in ("onnx", "npz"):
            (self._folder / f"best-{old}.{ending}").unlink(missing_ok=True)

    def _file(self, ending: str) -> Path:
        return self._folder / f"best-{self._best}.{ending}"

    def _write(self) -> None:
        # A finding's folder is replaced by the best case, which the next call then begins with.
        reached = _digest(self.program, self.inputs)
        data = {
            **self._about, "reached": reached, "best": self._best, "tries": self.tries, "complete": self.complete,
        }  # fmt: skip
        draft = self._folder / f"{STATE}.part"
        draft.write_text(json.dumps(data, indent=1) + "\n")
        draft.replace(self._folder / STATE)

    def _read(self) -> None:
        place = self._folder / STATE
        try:
            data = json.loads(place.read_text())
            found = {key: data[key] for key in self._about}
            self._best, self.tries = int(data["best"]), int(data["tries"])
            self.complete = bool(data["complete"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"{place}: not the state of a reduction ({error!r}); remove {self._folder}") from None
        if data.get("reached") == self._about["case"]:
            self._about["case"] = found["case"]
        for key, value in self._about.items():
            if found[key] != value:
                raise UsageError(
                    f"{place}: a reduction with another {key} was begun there: expected {value}, got {found[key]}; "
                    "use another --out, or remove that folder"
                )
        if self._best:
            try:
                self.program = Program.from_bytes(self._file("onnx").read_bytes())
                self.inputs = unpack(self._file("npz").read_bytes(), str(self._file("npz")))
            except InvalidProgram as error:
                raise UsageError(f"{self._file('onnx')}: {error}; remove {self._folder}") from None
        lines = (self._folder / FAILED).read_text().split() if (self._folder / FAILED).exists() else []
        self.skip = {bytes.fromhex(line) for line in lines if len(line) == 64}
