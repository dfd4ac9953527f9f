"""What each job says of the targets that it could start and waits for, and what all of them say together."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager

from irfuzz import stop_request
from irfuzz.campaign.config import TARGETS
from irfuzz.errors import UsageError
from irfuzz.execute.run_types import Target
from irfuzz.store.database import Database

SLOW = 5.0
"""Seconds from which on a target that is still starting, or has not answered, is named."""

LOOK = 0.5
"""Seconds between two looks at which target that is."""

STARTING, UNANSWERED = "starting", "unanswered"
"""Keys of what a job stores: who is waited for, and since when by ``time.monotonic``."""


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
        self._waits: dict[str, dict[str, float]] = {STARTING: {}, UNANSWERED: {}}
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
        """Let a thread write down which target takes ``SLOW`` seconds and more to start or answer, while a block runs.

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
            waits = _waits(starting())
            if any(waits[kind].keys() != known.keys() for kind, known in self._waits.items()):
                with self._lock, contextlib.suppress(UsageError):  # the campaign sees to its folder
                    self._waits = waits
                    self._store()

    def _store(self) -> None:
        self._database.set(self._key, json.dumps({"used": self._used, "absent": self._absent, **self._waits}))


def _waits(starting: tuple[Target, float] | None) -> dict[str, dict[str, float]]:
    """Who is waited for now; a target that starts is asked for its version, and that is no request of its own."""
    now = time.monotonic()
    if starting is not None:
        target, began = starting
        return {STARTING: {target.name: round(began, 1)} if now - began >= SLOW else {}, UNANSWERED: {}}
    late = [request for request in stop_request.under_way() if request.seconds >= SLOW]
    return {STARTING: {}, UNANSWERED: {request.worker: round(now - request.seconds, 1) for request in late}}


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
    """Targets whose start jobs wait for, by name: for how many seconds the first of them has."""
    return _longest(texts, STARTING)


def still_unanswered(texts: Sequence[str]) -> dict[str, float]:
    """Components whose answer jobs wait for, by name: for how many seconds the first of them has."""
    return _longest(texts, UNANSWERED)


def _longest(texts: Sequence[str], kind: str) -> dict[str, float]:
    since: dict[str, float] = {}
    for text in texts:
        for name, began in json.loads(text).get(kind, {}).items() if text else ():
            since[name] = min(began, since.get(name, began))
    return {name: max(0.0, time.monotonic() - began) for name, began in since.items()}
