"""A project with the converter, as a maintainer has it, and the commands that are typed in it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CONVERTER = Path(__file__).parent / "converter.py"
TARGET = "converter:Converter"


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that has ended.

    Attributes:
        code: its exit code.
        out: standard output.
        err: standard error.
        seconds: that it took.
    """

    code: int
    out: str
    err: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Project:
    """A folder with ``converter.py``.

    Attributes:
        folder: of it.
        variables: of the environment of commands, besides the process's own.
    """

    folder: Path
    variables: Mapping[str, str] = field(default_factory=dict[str, str])

    def plant(self, *faults: str) -> None:
        """Write the converter with these faults and no others."""
        text = re.sub(r"^FAULTS: .*$", f"FAULTS = {faults!r}", CONVERTER.read_text(), count=1, flags=re.MULTILINE)
        (self.folder / "converter.py").write_text(text)

    def run(self, words: Sequence[str] | str, **variables: str) -> Ended:
        """Run a command, or a line of shell code, in the folder; what it prints is kept."""
        began = time.monotonic()
        env = {k: v for k, v in os.environ.items() if not k.startswith("GITHUB_")}
        line = ["bash", "-c", words] if isinstance(words, str) else [*words]
        done = subprocess.run(
            line, cwd=self.folder, env={**env, **self.variables, **variables}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return Ended(done.returncode, done.stdout, done.stderr, time.monotonic() - began)


def refused_share(summary: Mapping[str, Any]) -> float:
    """Share of a campaign's programs that the converter refused.

    Args:
        summary: of ``irfuzz fuzz --json``.
    """
    counts = summary["counts"]
    refused = sum(counts.get(f"{TARGET} {end}", 0) for end in ("unsupported", "rejected"))
    return refused / max(1, summary["programs"])


def summary_of(ended: Ended) -> dict[str, Any]:
    """The summary that a command printed as JSON.

    Raises:
        SystemExit: it printed none.
    """
    try:
        return json.loads(ended.out)
    except ValueError:
        raise SystemExit(f"exit code {ended.code}, no summary: {ended.out[-500:]}\n{ended.err[-1500:]}") from None
