"""What the user asked for: settings from flags or of a stored campaign, as one frozen record."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from irfuzz.errors import UsageError
from irfuzz.frontends.toml_file_reading import is_list
from irfuzz.search.strategies.strategy_table import SEARCHES
from irfuzz.store.database import BLOBS
from irfuzz.store.finding_sightings import DATABASE

HUNTS = ("both", "numeric", "nan", "none")
"""``--hunt``: what the inputs of steered programs are after."""

TARGETS = "targets"
"""Beginning of the keys of settings in which each job says which targets it could start (``job_targets``)."""

SECONDS = "seconds"
"""Key of the setting with the time that a run of the campaign has, and when that ends by ``time.monotonic``.

That clock is one for all processes of a machine, and nobody sets it: an hour that is put forward ends no campaign.
"""

OVERTIME = 4.0
"""Seconds beyond the time of a campaign in which a job may still show by a script what it is busy with, and store it.
"""

STOP_AT = "stop at"
"""Key of the setting that says after how many programs a job is done; empty for no limit."""


MANY, VERY_MANY = 8, 24
"""With more targets than that a program takes so long that it had better be small."""


def usual_sprouts(targets: int) -> float:
    """The share of programs that grow from one node if nobody says what it is to be, of so many quick targets.

    Most of these are one call or two: what no seed has is drawn there, and a program costs a fraction of others.
    """
    return 0.9 if targets > VERY_MANY else 0.8 if targets > MANY else 0.6


@dataclass(frozen=True, slots=True)
class Config:
    """Settings of a campaign.

    Attributes:
        seed: root of all randomness.
        targets: names as for ``execute.target_table.resolve``; ``None``: everything installed.
        mutators: names; ``None``: all.
        domains: other domains whose operators are inserted whatever the seeds use.
        jobs: processes that mutate and judge, each with workers of its own.
        max_nodes: no mutant gets larger, or than 30 nodes more than its seed has if that is larger.
        edits: most edits between two programs of the corpus.
        every: targets that are sampled run on one program in so many.
        timeout: seconds that one target may take with one program.
        memory: bytes that a worker may take beyond what its framework takes.
        reduce: seconds that making one finding small may take.
        slow_share: largest part of the time for targets that take seconds a program.
        sprouts: share of the programs that grow from one node instead of a program of the corpus.
        search: name of the strategy that chooses parents and mutators.
        hunt: what inputs are steered to, one of ``HUNTS``.
        python_coverage: programs that run new lines of components written in Python become parents.
        ops: the only operators of programs; ``None``: all.
        dtypes: names of the only element types of inputs and of what is computed; none: all.
        max_rank: of any value; ``None``: no limit.
        learn: what targets refuse is learnt, and drawn no more.
        first_job: what is drawn is that of the jobs from this number on, so that agents of a fleet draw differently.
    """

    seed: int = 0
    targets: tuple[str, ...] | None = None
    mutators: tuple[str, ...] | None = None
    domains: tuple[str, ...] = ()
    jobs: int = 1
    max_nodes: int = 200
    edits: int = 4
    every: int = 16
    timeout: float = 10.0
    memory: int = 4 << 30
    reduce: float = 20.0
    sprouts: float = 0.0
    slow_share: float = 0.25
    search: str = "thompson"
    hunt: str = "both"
    python_coverage: bool = False
    ops: tuple[str, ...] | None = None
    dtypes: tuple[str, ...] = ()
    max_rank: int | None = None
    learn: bool = False
    first_job: int = 0

    def __post_init__(self) -> None:
        for name in ("jobs", "max_nodes", "edits", "every"):
            if getattr(self, name) < 1:
                raise UsageError(f"--{name.replace('_', '-')}: expected at least 1, got {getattr(self, name)}")
        for name in ("timeout", "reduce", "memory"):
            if not 0 < getattr(self, name) < math.inf:
                raise UsageError(f"--{name}: expected a positive number, got {getattr(self, name)}")
        if not 0 <= self.sprouts <= 1:
            raise UsageError(f"--sprouts: expected a share from 0 to 1, got {self.sprouts}")
        if not 0 <= self.slow_share < 1:
            raise UsageError(f"--slow-share: expected a share from 0 to less than 1, got {self.slow_share}")
        if self.search not in SEARCHES:
            raise UsageError(f"--search: expected one of {', '.join(SEARCHES)}, got {self.search!r}")
        if self.hunt not in HUNTS:
            raise UsageError(f"--hunt: expected one of {', '.join(HUNTS)}, got {self.hunt!r}")
        if self.max_rank is not None and self.max_rank < 0:
            raise UsageError(f"--max-rank: expected at least 0, got {self.max_rank}")
        if self.seed < 0:
            raise UsageError(f"--seed: expected at least 0, got {self.seed}")

    def to_json(self) -> str:
        """All settings as JSON text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Config:
        """The inverse of ``to_json``; lists become tuples.

        Args:
            text: as ``to_json`` gave it. Settings that older campaigns lack (``domains``, limits of what is drawn,
                ``first_job``) have their defaults.

        Raises:
            UsageError: the text was written by another version.
        """
        data: Mapping[str, Any] = json.loads(text)
        known = {field.name for field in fields(cls)}
        data = {"domains": [], "ops": None, "dtypes": [], "max_rank": None, "learn": False, "first_job": 0, **data}
        if set(data) != known:
            raise UsageError(
                f"campaign settings: expected {sorted(known)}, got {sorted(data)}; use another --out folder"
            )
        values: dict[str, Any] = {name: tuple(v) if is_list(v) else v for name, v in data.items()}
        return cls(**values)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a campaign keeps what, below its ``--out`` folder."""

    out: Path

    @property
    def database(self) -> Path:
        """The SQLite file that holds the campaign's whole state."""
        return self.out / DATABASE

    @property
    def blobs(self) -> Path:
        """Large weights of its programs, each once, as ``store.blob_store`` keeps them."""
        return self.out / BLOBS

    @property
    def findings(self) -> Path:
        """One folder a finding, made from the database and made again if missing."""
        return self.out / "findings"

    @property
    def suspects(self) -> Path:
        """The same for what is too thinly proven to be called a finding."""
        return self.out / "suspects"

    @property
    def unreplayed(self) -> Path:
        """The same for what was seen, but is not shown by its own ``repro.py``."""
        return self.out / "unreplayed"

    @property
    def drafts(self) -> Path:
        """Findings whose ``repro.py`` is being tried."""
        return self.out / "drafts"

    @property
    def samples(self) -> Path:
        """Samples of seeds' inputs, see ``seed_inputs``; there only if there are some."""
        return self.out / "samples"

    @property
    def internal(self) -> Path:
        """Faults of irfuzz itself, see ``internal_error_folders.InternalErrorStore``."""
        return self.out / "internal"

    def folders(self) -> tuple[Path, ...]:
        """Those that every campaign has from its start."""
        return (self.findings, self.inflight(0).parent, self.log(0).parent)

    def inflight(self, job: int) -> Path:
        """What a job is busy with now, see ``journal``.

        Args:
            job: its number, from 0.

        Returns:
            ``inflight/jobN.journal``; all jobs' files lie in one folder.
        """
        return self.out / "inflight" / f"job{job}.journal"

    def log(self, job: int) -> Path:
        """What a job writes to its standard error: ``logs/jobN.log``, to which a job that is started again appends.

        Args:
            job: its number, from 0.
        """
        return self.out / "logs" / f"job{job}.log"

    def lock(self) -> Path:
        """Held by the process that runs the campaign."""
        return self.out / "campaign.lock"
