"""What the user leaves to all workers, and what keeps them from the rest on this machine, in one line."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

from irfuzz.errors import UsageError
from irfuzz.isolate.sandbox import WORDS
from irfuzz.isolate.scratch_folder import ScratchFolder

VARIABLE = "IRFUZZ_ALLOW"
"""Environment variable: words and paths, separated by commas; ``all`` switches the sandbox off."""

SCRIPT = Path(__file__).with_name("sandbox.py")
SECONDS = 20.0

_HOLDS = {
    "network": "no network",
    "files": "files are read-only but for a scratch folder",
    "home": "an empty home",
    "memory": "shared memory of their own",
}
_MEANS = {"namespace": "network namespace", "seccomp": "seccomp, no loopback either", "scratch": ""}


def allowed_to_all() -> tuple[str, ...]:
    """What ``IRFUZZ_ALLOW`` leaves to every worker, beside what each of them needs.

    Raises:
        UsageError: it has an unknown word.
    """
    return checked(VARIABLE, [word.strip() for word in os.environ.get(VARIABLE, "").split(",") if word.strip()])


def checked(place: str, words: list[str]) -> tuple[str, ...]:
    """What a sandbox may leave, with ``all`` spelt out.

    Args:
        place: where that was said.
        words: of ``sandbox.WORDS``, ``all``, or absolute paths.

    Raises:
        UsageError: there is another word.
    """
    for word in words:
        if word not in (*WORDS, "all") and not word.startswith(("/", "~")):
            raise UsageError(f"{place}: expected {', '.join(WORDS)}, all or an absolute path, got {word!r}")
    return tuple(dict.fromkeys(word for said in words for word in (WORDS if said == "all" else (said,))))


def sandbox_line() -> str:
    """What workers may not do here, by what means, and what is not kept from them.

    Raises:
        UsageError: ``IRFUZZ_ALLOW`` has an unknown word.
    """
    allowed = allowed_to_all()
    holds = what_holds(allowed)
    kept = [_HOLDS[word] + (f" ({means})" if (means := _MEANS.get(how, how)) else "") for word, how in holds.items()]
    lacking = [word for word in WORDS if word not in holds and word not in allowed]
    parts = [", ".join(kept) or "no sandbox"]
    if lacking:
        parts.append(f"not kept from the user's {' and '.join(lacking)}: the kernel has no means (docs/security.md)")
    if allowed:
        parts.append(f"{VARIABLE} leaves them {', '.join(allowed)}")
    return f"workers: {'; '.join(parts)}"


@functools.cache
def what_holds(allowed: tuple[str, ...] = ()) -> dict[str, str]:
    """What a sandbox keeps from a process of this interpreter, and how; another process tries it.

    Args:
        allowed: words and paths that it leaves.

    Returns:
        ``namespace`` or ``seccomp`` for ``network``, ``Landlock VERSION`` for ``files``, ``scratch`` for ``home``,
        ``mount namespace`` for ``memory``; what does not hold is missing.
    """
    with ScratchFolder("sandbox") as scratch:
        command = [sys.executable, "-I", "-S", str(SCRIPT), str(scratch.path), *allowed]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True)
        except (OSError, subprocess.SubprocessError):
            return {}
    return json.loads(done.stdout)
