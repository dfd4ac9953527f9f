"""The operators and element types that targets were seen to run, kept from one time to the next."""

from __future__ import annotations

import fcntl
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from irfuzz.choices import Choices
from irfuzz.errors import Unsupported, UsageError
from irfuzz.execute.adapters.plugin import source_digest
from irfuzz.execute.run_types import Exit, RunResult, Target
from irfuzz.execute.runner import Runner
from irfuzz.execute.versions import environments
from irfuzz.generate.input_values import make_inputs
from irfuzz.generate.one_node_programs import sprouts, sprouts_up_to
from irfuzz.ir.program import Program
from irfuzz.isolate import Limits
from irfuzz.mutate.model_interface.convert_opset import NEWEST
from irfuzz.mutate.mutation_engine import Engine
from irfuzz.mutate.mutator_protocol import Relation
from irfuzz.spec import load_specs

SCHEMA = 1
"""Version of the file."""

MUTATORS = ("insert-layer", "insert-random", "insert-sequence", "insert-optional", "insert-strings", "change-dtype")
"""They put valid calls of any operator behind a program's only input."""

SAVE = 10.0
"""Seconds between two writes of the file."""

CLASS = "class"
"""Option of the target of a user's class: the place of that class."""

Pair = tuple[str, str]
"""Operator and element type, ``("Conv", "float16")``."""


class OperatorSupport:
    """What is known of each target of one version: pairs that it ran, and pairs that it said it lacks.

    A pair counts as run once a program that holds it has run. It counts as lacking if a refusal was seen that the
    component itself calls a gap, of a program that holds no other pair which that target has not run.

    Args:
        path: the file; by default the one in the folder that holds the environments.
        empty: begin with nothing, and add to what the file holds when saved.

    Attributes:
        path: the file.
        drawn: how many programs were drawn so far, so that the next probe goes on behind them.
    """

    def __init__(self, path: Path | None = None, *, empty: bool = False) -> None:
        self.path = path or environments.folder().parent / "support.json"
        self.drawn = 0
        self._known: dict[str, dict[Pair, bool]] = {}
        if empty:
            return
        try:
            stored: Mapping[str, Any] = json.loads(self.path.read_text())
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            raise UsageError(f"{self.path}: cannot be read ({error}); delete it to begin anew") from error
        if stored.get("schema") != SCHEMA:
            return  # what can be probed again is no loss
        self.drawn = int(stored["drawn"])
        for target, rows in stored["targets"].items():
            self._known[target] = {(op, dtype): bool(ran) for op, dtype, ran in rows}

    def of(self, target: Target) -> dict[Pair, bool]:
        """Pairs, and whether they ran; those of a target's other versions are not its own.

        Returns:
            The table itself, not a copy: what is added to it is known from then on, and stored by ``save``.
        """
        return self._known.setdefault(identity(target), {})

    def saw(self, program: Program, results: Iterable[RunResult]) -> None:
        """Take note of runs of one valid program; a target without a version may be another thing the next time."""
        pairs = pairs_of(program)
        for result in results:
            if result.target.version or CLASS in result.target.options:
                learn(self.of(result.target), pairs, result.exit)

    def save(self) -> None:
        """Add it to the file, which others may have added to meanwhile; whole or not at all.

        Raises:
            UsageError: the file cannot be read or written.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.with_suffix(".lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                self._add(OperatorSupport(self.path))
                draft = self.path.with_suffix(".draft")
                draft.write_text(json.dumps(self._stored()))
                draft.replace(self.path)
        except OSError as error:
            raise UsageError(f"{self.path}: cannot be written: {error.strerror}") from error

    def _add(self, other: OperatorSupport) -> None:
        """What ran once is supported, whoever saw it."""
        self.drawn = max(self.drawn, other.drawn)
        for name, known in other._known.items():
            mine = self._known.setdefault(name, {})
            mine.update({pair: ran or mine.get(pair, False) for pair, ran in known.items()})

    def _stored(self) -> dict[str, Any]:
        rows = {name: [[*pair, ran] for pair, ran in sorted(known.items())] for name, known in self._known.items()}
        return {"schema": SCHEMA, "drawn": self.drawn, "targets": rows}

    def told(self, target: Target) -> dict[str, Any]:
        """For JSON: element types by operator, of what ran and of what is lacking.

        Returns:
            ``{"runs": {"Add": ["float", ...]}, "lacks": {...}}``, both sorted.
        """
        found: dict[str, dict[str, list[str]]] = {"runs": {}, "lacks": {}}
        for (op, dtype), ran in sorted(self.of(target).items()):
            found["runs" if ran else "lacks"].setdefault(op, []).append(dtype)
        return found


def probe(
    targets: Sequence[Target],
    support: OperatorSupport,
    seconds: float,
    *,
    limits: Limits | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> int:
    """Run valid calls of all operators on targets that are not known to run or to lack them.

    Args:
        targets: as ``execute.table.resolve`` gives them; those that do not start are left out.
        support: what is known; grows, and is saved now and then.
        seconds: how long.
        limits: of each run.
        say: told what is going on.

    Returns:
        How many programs were run.
    """
    specs = load_specs()
    engine = Engine(specs, MUTATORS)
    parents = [sprouts()[name] for name in sprouts_up_to(NEWEST)]
    began = saved = time.monotonic()
    programs = 0
    with Runner(targets, limits or Limits(), required=False) as runner:
        for absent in runner.absent:
            say(f"{absent.target.name}: {absent.why_not.splitlines()[0]}")
        while time.monotonic() - began < seconds:
            support.drawn += 1
            choices = Choices.from_seed(f"support/{support.drawn}")
            mutant = engine.mutate(choices.pick(parents).clone(), choices, edits=1)
            if mutant is None or any(edit.relation is Relation.INVALID for edit in mutant.edits):
                continue
            pairs = pairs_of(mutant.program)
            wanted = [t for t in runner.targets if any(pair not in support.of(t) for pair in pairs)]
            if not wanted:
                continue
            try:
                inputs = make_inputs(mutant.program, support.drawn)
            except Unsupported:
                continue
            support.saw(mutant.program, runner.run(mutant.program, inputs, wanted))
            programs += 1
            if time.monotonic() - saved > SAVE:
                saved = time.monotonic()
                support.save()
    support.save()
    return programs


def identity(target: Target) -> str:
    """A target in the version in which it runs; of a user's class the file that holds it counts, since that changes
    from day to day and its version does not.
    """
    source = target.options.get(CLASS)
    return f"{target.name} {(source is not None and source_digest(str(source))) or target.version}"


def pairs_of(program: Program) -> frozenset[Pair]:
    """Each node's operator with the element type of its first typed input, or else output.

    Returns:
        Pairs such as ``("Add", "float")``; an operator of another domain has that in front. Nodes of which no type is
        known give none.
    """
    found: set[Pair] = set()
    for node in program.nodes():
        for value in (*node.inputs, *node.outputs):
            dtype = None if value is None else getattr(program.fact(value), "dtype", None)
            if dtype is not None:
                found.add((f"{node.domain}.{node.op_type}" if node.domain else node.op_type, dtype.name.lower()))
                break
    return frozenset(found)


def learn(known: dict[Pair, bool], pairs: frozenset[Pair], how: Exit) -> None:
    """Take note of one run; a rejection or crash says nothing about what is supported.

    Args:
        known: what is known of the target; added to in place.
        pairs: of the program that ran.
        how: it ended. Of what is unsupported something is learnt only if all pairs but one are known to run.
    """
    if how is Exit.OK:
        known.update(dict.fromkeys(pairs, True))
    elif how is Exit.UNSUPPORTED:
        doubtful = [pair for pair in pairs if not known.get(pair)]
        if len(doubtful) == 1:
            known.setdefault(doubtful[0], False)
