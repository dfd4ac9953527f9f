"""What each job says of the targets that it could start, and what all of them say together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from irfuzz.campaign.config import TARGETS
from irfuzz.execute.run_types import Target
from irfuzz.store.database import Database


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

    def use(self, targets: Iterable[Target]) -> None:
        """These are under test, in their versions as far as these are known by now.

        Args:
            targets: added to those that were named before; all are written to the campaign's database at once.
        """
        self._used.update({target.name: target.version for target in targets})
        self._store()

    def drop(self, target: Target, why: str) -> None:
        """This one is not, or no longer, and why.

        Args:
            target: that is not under test.
            why: of which the first line is kept.
        """
        self._used.pop(target.name, None)
        self._absent[target.name] = why.splitlines()[0]
        self._store()

    def _store(self) -> None:
        self._database.set(self._key, json.dumps({"used": self._used, "absent": self._absent}))


def together(texts: Sequence[str]) -> Mapping[str, Mapping[str, str]] | None:
    """What jobs have stored: ``used`` (versions by name) and ``absent`` (reasons by name); ``None`` if none has.

    A target that one job uses and another left out is in both.
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
