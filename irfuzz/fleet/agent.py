"""One agent of a fleet: an ordinary campaign in a folder of its own that is kept in step with the store."""

from __future__ import annotations

import json
import math
import signal
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Any

from irfuzz.api.fuzz import FuzzOptions, add_seeds, setup_of
from irfuzz.api.loaded_model import LoadedModel
from irfuzz.campaign.campaign import Campaign, CampaignProgress
from irfuzz.campaign.corpus.known_programs import know_all
from irfuzz.campaign.corpus.program_corpus import Corpus
from irfuzz.errors import UsageError
from irfuzz.execute.large_model_limits import memory_for
from irfuzz.execute.run_types import Target
from irfuzz.fleet.agent_registry import (
    BLOBS_AT,
    AgentState,
    Orders,
    join,
    new_name,
    register,
)
from irfuzz.fleet.program_exchange import ProgramIntake
from irfuzz.fleet.shared_blobs import SharedBlobs
from irfuzz.fleet.shared_work import WorkSetting
from irfuzz.fleet.store_connection import StoreConnection, StoreUnreachable
from irfuzz.fleet.synchronisation import EVERY, FIRST_PAUSE, LONGEST_PAUSE, FolderSync, SyncThread
from irfuzz.fleet.upkeep.agent_abilities import FUZZ, WORK
from irfuzz.fleet.upkeep.release_following import LOOK
from irfuzz.store.database import Database
from irfuzz.store.taken_programs import taken_after

ABOUT = "agent.json"
"""File in an agent's folder: which fleet it belongs to, under which name, and its first job."""

SCHEMA = 1

PATIENCE = 30.0
"""Seconds that the last synchronisation waits for a store that is away; service managers kill after 90."""

WAITED_FOR = 900.0
"""Seconds that an agent which starts again waits for a store that is away; a new one says at once that it is."""

POLL = 0.5


class WorkKept(StoreUnreachable):
    """The store is away at an agent's end; its folder has what that lacks."""


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """What an agent is started with.

    Attributes:
        store: URL of the fleet's store.
        out: the agent's own folder.
        blobs: place of models and weights; ``None``: the fleet's.
        targets: names; ``None``: all that are installed.
        seconds: how long; ``None``: until somebody asks it to end.
        programs: after so many it ends; ``None``: no limit.
        every: seconds between two synchronisations.
        fuzz: what few callers need.
        work: kinds of work that it takes, as ``agent_abilities.read_work`` gives them.
        follow: distributions of whose new releases it makes environments.
        look: seconds between two looks at the package index.
    """

    store: str
    out: Path
    blobs: str | None = None
    targets: tuple[str, ...] | None = None
    seconds: float | None = None
    programs: int | None = None
    every: float = EVERY
    fuzz: FuzzOptions = field(default_factory=FuzzOptions)
    work: tuple[str, ...] = WORK
    follow: tuple[str, ...] = ()
    look: float = LOOK


@dataclass(frozen=True, slots=True)
class AgentReport:
    """What became of an agent.

    Attributes:
        name: of it.
        programs: judged in this folder.
        findings: confirmed in this folder.
        taken: programs of other agents that it took in.
        why: it ended.
    """

    name: str
    programs: int
    findings: int
    taken: int
    why: str

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON-able data."""
        return asdict(self)

    def __str__(self) -> str:
        """One line for people."""
        return (
            f"agent {self.name} ended ({self.why}): {self.programs} programs, {self.findings} findings, "
            f"{self.taken} programs taken in"
        )


def shared_blobs(store: StoreConnection, given: str | None) -> SharedBlobs:
    """The blobs of a fleet: in the place that is given, else in that of the fleet, else beside a SQLite file.

    Args:
        store: of the fleet, which remembers the place that is given first.
        given: a folder or URL, or ``None``.

    Raises:
        UsageError: nobody has given a place, or it cannot be used.
    """
    with store.transaction() as connection:
        place = given or store.settings(connection).get(BLOBS_AT)
        if place is None and store.file is not None:
            place = f"{store.file}.blobs"
        if place is None:
            raise UsageError(
                "--blobs: expected a folder or a URL such as s3://bucket/folder that all agents reach; a store in "
                "PostgreSQL keeps no models"
            )
        place = place if "://" in place else str(Path(place).resolve())
        if given is not None and BLOBS_AT not in store.settings(connection):
            store.set(connection, {BLOBS_AT: place})
    return SharedBlobs(place)


def run_agent(options: AgentOptions, models: Sequence[LoadedModel], say: Callable[[str], None]) -> AgentReport:
    """Run an agent until its time is up, somebody asks it to end, or the fleet is drained.

    The store may be away for any time once the agent runs, and for ``WAITED_FOR`` when one starts again that has run
    before. SIGTERM, SIGHUP and Ctrl-C end it cleanly.

    Args:
        options: how.
        models: seeds; the fleet's own are taken in beside them.
        say: prints a line.

    Raises:
        UsageError: the store, the folder, a model or a target cannot be used, or there is no seed.
        StoreUnreachable: the store is away at the start.
        WorkKept: it is away at the end.
        InternalError: jobs keep dying of irfuzz's own faults.
    """
    until, pause = time.monotonic() + WAITED_FOR * (options.out / ABOUT).is_file(), FIRST_PAUSE
    while True:
        try:
            return _run_once(options, models, say)
        except StoreUnreachable as error:
            if isinstance(error, WorkKept) or time.monotonic() >= until:
                raise
            if pause == FIRST_PAUSE:
                say(f"{error}; waiting for it")
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def _run_once(options: AgentOptions, models: Sequence[LoadedModel], say: Callable[[str], None]) -> AgentReport:
    store = StoreConnection(options.store, make=True)
    try:
        blobs = shared_blobs(store, options.blobs)
        blobs.check()
        with store.transaction() as connection:
            fleet = store.settings(connection)["id"]
        about = _about(options.out, fleet, store.name)
        if about is None:
            first_job, seed = join(store, options.fuzz.seed)
            about = {"schema": SCHEMA, "fleet": fleet, "name": new_name(), "first_job": first_job, "seed": seed}
        elif options.fuzz.seed not in (None, about["seed"]):
            raise UsageError(
                f"--seed {options.fuzz.seed}: --out {options.out} is an agent's of a fleet with seed {about['seed']}; "
                "leave --seed out to go on"
            )
        return _run(options, models, say, store, blobs, about)
    finally:
        store.close()


def _about(out: Path, fleet: str, store: str) -> dict[str, Any] | None:
    """What an agent's folder says; ``None`` if it is none yet.

    Raises:
        UsageError: it belongs to another fleet, or is damaged.
    """
    path = out / ABOUT
    if not path.is_file():
        if Campaign.stored_config(out) is not None:
            raise UsageError(f"--out {out}: holds a campaign of its own; an agent needs a folder of its own")
        return None
    try:
        about = json.loads(path.read_text())
    except (ValueError, OSError) as error:
        raise UsageError(f"{path}: cannot be read: {error}; use another --out folder") from None
    kinds = {"schema": int, "fleet": str, "name": str, "first_job": int, "seed": int}
    if not isinstance(about, dict) or {key: type(value) for key, value in about.items()} != kinds:
        raise UsageError(
            f"{path}: expected an object with {', '.join(kinds)}, got {about!s:.80}; use another --out folder"
        )
    if about["schema"] != SCHEMA:
        raise UsageError(f"{path}: expected schema {SCHEMA}, got {about['schema']}; use another --out folder")
    if about["fleet"] != fleet:
        raise UsageError(f"--out {out}: belongs to an agent of another fleet than {store}; use another --out folder")
    return about


def _run(
    options: AgentOptions, models: Sequence[LoadedModel], say: Callable[[str], None], store: StoreConnection,
    blobs: SharedBlobs, about: dict[str, Any],
) -> AgentReport:  # fmt: skip
    fuzz = replace(options.fuzz, seed=about["seed"])
    setup = setup_of(options.out, options.targets, options.seconds or math.inf, fuzz)
    config = replace(setup.config, first_job=about["first_job"])
    if fuzz.memory is None:
        config = replace(config, memory=memory_for((model.program for model in models), config.memory))
    with Campaign(options.out, config, fleet=True) as campaign:
        add_seeds(campaign, models)
        database = Database(campaign.layout.database)
        try:
            intake = ProgramIntake(store, blobs, database, about["name"])
            _take_seeds(intake, database, needed=FUZZ in options.work)
            _write(options.out / ABOUT, about)
            return _synchronised(options, campaign, database, store, blobs, about, setup.targets, say)
        except UsageError:
            if not campaign.continued and not campaign.programs():
                (options.out / ABOUT).unlink(missing_ok=True)  # the campaign removes the rest of the folder
            raise
        finally:
            database.close()


def _take_seeds(intake: ProgramIntake, database: Database, *, needed: bool) -> None:
    """Take in what the fleet has, and know what all seeds show.

    Raises:
        UsageError: there is no seed then, and one is needed.
    """
    while intake.take():
        pass
    if needed and not database.corpus_size():
        raise UsageError("expected SEED, or seeds in the store; `irfuzz fleet add-seeds` gives it some")
    corpus = Corpus(database)
    know_all(database, corpus.holders, corpus.load)  # so that they can be given before a job has read them


def _synchronised(
    options: AgentOptions, campaign: Campaign, database: Database, store: StoreConnection, blobs: SharedBlobs,
    about: Mapping[str, Any], targets: Sequence[Target], say: Callable[[str], None],
) -> AgentReport:  # fmt: skip
    names = [target.name for target in targets]
    account = register(store, about["name"], about["first_job"], names, campaign.config.jobs)
    setting = WorkSetting(options.work, options.follow, options.look, options.out, options.fuzz.timeout)
    sync = FolderSync(store, blobs, database, account, names, campaign.layout.out / "scratch", setting)
    try:
        why = _Loop(options, campaign, sync, say, about["name"]).run()
    finally:
        sync.close()
    found, taken = database.finding_counts()["findings"], len(taken_after(database, 0, 1 << 40))
    return AgentReport(about["name"], campaign.programs(), found, taken, why)


def _write(path: Path, about: dict[str, Any]) -> None:
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(about))
    draft.replace(path)


class _Loop:
    """Runs the campaign, and stops it whenever the fleet is to pause or to end."""

    def __init__(
        self, options: AgentOptions, campaign: Campaign, sync: FolderSync, say: Callable[[str], None], name: str
    ) -> None:
        self._options, self._campaign, self._sync, self._say, self._name = options, campaign, sync, say, name
        self._thread = SyncThread(sync, say, options.every)
        self._asked = 0
        self._told = False
        self._until = math.inf if options.seconds is None else time.monotonic() + options.seconds

    def run(self) -> str:
        """Work, and synchronise a last time; why it ended."""
        with self._listening():
            self._say(f"agent {self._name}: first job {self._campaign.config.first_job}")
            self._thread.start()
            why = "irfuzz failed"
            try:
                why = self._work()
            finally:
                self._sync.state = AgentState.ENDED
                synchronised = self._thread.end(PATIENCE)
        if self._thread.failed is not None:
            raise self._thread.failed
        if not synchronised:
            raise WorkKept(
                f"{self._sync.left()} programs and findings of agent {self._name} are not in the store, which is away; "
                f"they are kept in {self._options.out}, and the same command sends them"
            )
        return why

    def _work(self) -> str:
        """Run the campaign until there is a reason to end, which is returned."""
        while True:
            if self._thread.failed is not None:
                return "refused"
            if self._asked:
                return "stopped"
            if self._thread.orders in (Orders.DRAIN, Orders.END):
                return "drained" if self._thread.orders is Orders.DRAIN else "the fleet has ended"
            if time.monotonic() >= self._until:
                return "the time is up"
            if self._thread.orders is Orders.PAUSE:
                self._sync.state = AgentState.PAUSED
                time.sleep(POLL)
                continue
            self._sync.state, self._told = AgentState.RUNNING, False
            if FUZZ not in self._options.work:
                time.sleep(POLL)
                continue
            left = None if math.isinf(self._until) else self._until - time.monotonic()
            self._campaign.run(left, self._watch, stop_at=self._options.programs)
            if self._campaign.interrupted and not self._told:
                return "stopped"
            if not self._told:
                return "enough programs" if time.monotonic() < self._until else "the time is up"

    def _watch(self, _: CampaignProgress) -> None:
        if self._thread.orders is not Orders.RUN or self._thread.failed is not None:
            self._told = True
            self._campaign.stop()

    @contextmanager
    def _listening(self) -> Generator[None]:
        """Signals that come while the campaign does not run are heard, too."""

        def ask(_number: int, _frame: FrameType | None) -> None:
            self._asked += 1
            if self._asked > 1:
                raise KeyboardInterrupt

        old = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        try:
            yield
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)
