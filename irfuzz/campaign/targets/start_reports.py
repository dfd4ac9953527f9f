"""What each job says of the targets that it could start, and what all of them say together."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager

from irfuzz.campaign.config import TARGETS
from irfuzz.errors import UsageError
from irfuzz.execute.run_types import Target
from irfuzz.store.database import Database

SLOW_START = 5.0
"""Seconds from which on a target that is still starting is named."""

LOOK = 0.5
"""Seconds between two looks at which target is starting."""


class JobTargets:
    """The targets of one job, in the campaign's database.

    Args:
        database: of the campaign.
        number: of the job.
    """

    def __init__(self, database: Database, number: int) -> None:
        self._database = database
        self._key = f"{TARGETS} {number}"
        self._used: dict[str, str] = {}
        self._absent: dict[str, str] = {}
        self._starting: dict[str, float] = {}
        self._lock = threading.Lock()

    def use(self, targets: Iterable[Target]) -> None:
        """These are under test, in their versions as far as these are known by now.

        Args:
            targets: added to those that were named before; all are written to the campaign's database at once.
        """
        with self._lock:
            self._used.update({target.name: target.version for target in targets})
            self._store()

    def drop(self, target: Target, why: str) -> None:
        """This one is not, or no longer, and why.

        Args:
            target: that is not under test.
            why: of which the first line is kept.
        """
        with self._lock:
            self._used.pop(target.name, None)
            self._absent[target.name] = why.splitlines()[0]
            self._store()

    def set_aside(self, target: Target, why: str) -> None:
        """This one is under test no longer, though it was.

        Args:
            target: stays among those that are used.
            why: one line.
        """
        with self._lock:
            self._absent[target.name] = why
            self._store()

    @contextmanager
    def watching(self, starting: Callable[[], tuple[Target, float] | None]) -> Generator[None]:
        """Let a thread write down which target takes ``SLOW_START`` seconds and more to start, while a block runs.

        Args:
            starting: says which one is starting now, and since when by ``time.monotonic``.
        """
        ended = threading.Event()
        thread = threading.Thread(target=self._watch, args=(starting, ended), name="irfuzz-starts", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _watch(self, starting: Callable[[], tuple[Target, float] | None], ended: threading.Event) -> None:
        while not ended.wait(LOOK):
            now = starting()
            slow = {}
            if now is not None and time.monotonic() - now[1] >= SLOW_START:
                slow = {now[0].name: round(time.time() - (time.monotonic() - now[1]), 1)}
            if slow.keys() != self._starting.keys():
                with self._lock, contextlib.suppress(UsageError):  # the campaign sees to its folder
                    self._starting = slow
                    self._store()

    def _store(self) -> None:
        told = {"used": self._used, "absent": self._absent, "starting": self._starting}
        self._database.set(self._key, json.dumps(told))


def together(texts: Sequence[str]) -> Mapping[str, Mapping[str, str]] | None:
    """What jobs have stored: ``used`` (versions by name) and ``absent`` (reasons by name); ``None`` if none has.

    A target that one job uses and another left out is in both, and so is one that was set aside.
    """
    told = [json.loads(text) for text in texts if text]
    if not any(job["used"] for job in told):
        return None
    used: dict[str, str] = {}
    absent: dict[str, str] = {}
    for job in told:
        for name, version in job["used"].items():
            used[name] = used.get(name) or version
        absent.update(job["absent"])
    return {"used": used, "absent": absent}


def still_starting(texts: Sequence[str]) -> dict[str, float]:
    """Targets that jobs wait for, by name: for how many seconds the first of them has."""
    since: dict[str, float] = {}
    for text in texts:
        for name, began in json.loads(text).get("starting", {}).items() if text else ():
            since[name] = min(began, since.get(name, began))
    return {name: max(0.0, time.time() - began) for name, began in since.items()}
