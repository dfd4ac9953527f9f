"""A user's command, whose exit code says whether a candidate is interesting."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from irfuzz import stop_request
from irfuzz.errors import UsageError
from irfuzz.execute.run_types import Value
from irfuzz.ir.program import Program
from irfuzz.isolate.guard import guarded
from irfuzz.isolate.printed_output import ended, printed
from irfuzz.reduce.resume_folder import CANDIDATE
from irfuzz.store.npz_tensors import pack

MODEL, INPUTS = "model.onnx", "inputs.npz"
"""Names of a candidate's files; they lie in one folder."""


class CheckCommand:
    """Runs a command on candidates; several threads may do so at once.

    Args:
        text: the command, as a shell splits it into words; no shell runs it. The candidate's path is added as the last
            word.
        folder: where candidates are written while they are looked at.
        seconds: after which a run is ended, and is not interesting.
        fail_is_interesting: every exit code but 0 is, and 0 is not (Polygraphy's convention).

    Attributes:
        text: the command.
        question: what it asks of candidates, as a reduction's folder remembers it.

    Raises:
        UsageError: there is no such program.
    """

    def __init__(self, text: str, folder: Path, seconds: float, *, fail_is_interesting: bool = False) -> None:
        try:
            self._words = shlex.split(text)
        except ValueError as error:
            raise UsageError(f"--check {text!r}: {error}") from None
        if not self._words or shutil.which(self._words[0]) is None:
            raise UsageError(f"--check {text!r}: expected a program that can be run, and perhaps its arguments")
        self.text = text
        self.question = f"{text}{' fails' if fail_is_interesting else ''}"
        self._folder = folder
        self._seconds = seconds
        self._fail = fail_is_interesting

    def __call__(self, program: Program, inputs: Mapping[str, Value]) -> bool:
        """Whether a candidate is interesting."""
        return self.look(program, inputs)[0]

    def look(self, program: Program, inputs: Mapping[str, Value]) -> tuple[bool, str]:
        """Whether a candidate is interesting, and how the command ended, with its last line.

        The command gets the path of a model file, beside which the inputs lie as ``inputs.npz``; both are removed
        afterwards.

        Args:
            program: the candidate.
            inputs: by name.

        Returns:
            The answer, and a text such as ``exits with 1: AssertionError``. A command that takes too long is ended, and
            the candidate is not interesting.
        """
        with tempfile.TemporaryDirectory(dir=self._folder, prefix=CANDIDATE) as name:
            model = Path(name, MODEL)
            model.write_bytes(program.to_bytes())
            Path(name, INPUTS).write_bytes(pack(inputs))
            process = subprocess.Popen(
                guarded([*self._words, str(model)]),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                said = printed(process, self._seconds)
            except subprocess.TimeoutExpired:
                process.terminate()  # the guard ends what the command has started, too
                ended(process)
                return False, f"was ended after {self._seconds:g} s"
            except BaseException:
                process.terminate()
                ended(process)
                raise
        stop_request.check()  # what was ended for that says nothing about the candidate
        lines = said.decode(errors="replace").strip().splitlines()
        last = f": {lines[-1][:200]}" if lines else ""
        return (process.returncode != 0) is self._fail, f"exits with {process.returncode}{last}"
