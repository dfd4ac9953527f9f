"""The process that does one piece of leased work, with a request on its standard input.

Whatever is wrong with the work is its result and costs the agent nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from irfuzz.errors import IrfuzzError
from irfuzz.fleet.lease_table import LeaseKind
from irfuzz.fleet.shared_blobs import SharedBlobs
from irfuzz.fleet.store_connection import StoreConnection, StoreUnreachable
from irfuzz.fleet.upkeep.corpus_distillation import distil_at_night
from irfuzz.fleet.upkeep.corpus_regressions import replay_part
from irfuzz.fleet.upkeep.finding_upkeep import ask_release, ask_releases, reduce_further
from irfuzz.fleet.upkeep.release_following import INSTALL, follow, install
from irfuzz.fleet.upkeep.work_request import WorkPlace, WorkRequest, WorkResult

WORKS: Mapping[str, Callable[[WorkPlace], WorkResult]] = {
    LeaseKind.DISTIL: distil_at_night,
    LeaseKind.REDUCE: reduce_further,
    LeaseKind.VERSIONS: ask_releases,
    LeaseKind.RECHECK: ask_release,
    LeaseKind.REPLAY: replay_part,
    LeaseKind.FOLLOW: follow,
    INSTALL: install,
}
"""What is done for each kind."""


def main() -> int:
    """Read the request, do the work and write the result; 0 unless a fault of irfuzz's own ends it."""
    request = WorkRequest.from_text(sys.stdin.read())
    do(request).write(Path(request.scratch))
    return 0


def do(request: WorkRequest) -> WorkResult:
    """Do the work in this process; an error becomes a result with one line.

    Args:
        request: its ``scratch`` is a folder of this work alone.
    """
    try:
        store = StoreConnection(request.store)
        try:
            return WORKS[request.kind](WorkPlace(request, store, SharedBlobs(request.blobs)))
        finally:
            store.close()
    except StoreUnreachable as error:
        return WorkResult(_line(error), failed=True)
    except (IrfuzzError, OSError) as error:
        return WorkResult(f"cannot be done here: {_line(error)}", failed=True)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]
