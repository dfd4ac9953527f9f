"""Makes valid programs from nothing, each with the trace that makes it again."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irfuzz import __version__
from irfuzz.choices import Choices, Draw
from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.frontends.produced_model_conversions import ProducedModel
from irfuzz.frontends.regular_file_opening import read_plain
from irfuzz.generate.program_growth import IR_VERSIONS, Growth
from irfuzz.generate.topologies import TOPOLOGIES
from irfuzz.ir.verifier import verify
from irfuzz.mutate.feature_counts import FeatureCounts
from irfuzz.mutate.model_interface.import_domain import known_domains, version_beside
from irfuzz.mutate.mutation_trace import MAX_BYTES, sha256
from irfuzz.mutate.mutator_context import Context
from irfuzz.spec import full_name, load_specs, split_name

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

SCHEMA = 1
"""Version of the trace's format."""

VERSION = 2
"""Of the generator: raised whenever the same draws would give another program."""

_ATTEMPTS = 20
"""Programs in a row that may come to nothing."""

_MOST_NODES = 1000


@dataclass(frozen=True, slots=True)
class ProgramRequest:
    """What a program is to be like.

    Attributes:
        topology: ``chain``, ``cell`` or ``free``.
        nodes: as soon as there are so many, nothing more is put in.
        ops: the only operators that layers are drawn of, sorted; ``None`` for all.
        opset: of the default domain.
        domains: others whose operators are drawn, too, sorted.
    """

    topology: str = "free"
    nodes: int = 10
    ops: tuple[str, ...] | None = None
    opset: int = 17
    domains: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Look whether there can be such a program.

        Raises:
            UsageError: a field is out of its range.
        """
        if self.topology not in TOPOLOGIES:
            raise UsageError(f"topology: expected {', '.join(TOPOLOGIES)}, got {self.topology!r}")
        if isinstance(self.nodes, bool) or not isinstance(self.nodes, int) or not 1 <= self.nodes <= _MOST_NODES:
            raise UsageError(f"nodes: expected a number from 1 to {_MOST_NODES}, got {self.nodes!r}")
        if self.opset not in IR_VERSIONS:
            raise UsageError(f"opset: expected {', '.join(map(str, IR_VERSIONS))}, got {self.opset!r}")
        if self.domains != known_domains(load_specs(), self.domains):
            raise UsageError(f"domains: expected names in rising order, each once, got {', '.join(self.domains)}")
        if self.ops is not None:
            known = known_calls(self.ops, self.opset)
            for op in self.ops:
                if op not in known:
                    raise UsageError(
                        f"ops: no calls of {op!r} are drawn at opset {self.opset}; known: {', '.join(known)}"
                    )
            if not self.ops:
                raise UsageError("ops: expected at least one operator")


def known_calls(ops: Iterable[str], opset: int) -> list[str]:
    """Operators of which calls are drawn: of ONNX's own domain, and of the domains that some names name.

    Args:
        ops: names, with the domain in front unless it is the default one; unknown domains are left out.
        opset: of the default domain.
    """
    specs = load_specs()
    domains = sorted({"", *(split_name(op)[0] for op in ops)} & set(specs.domains))
    versions = {d: version_beside(specs, d, opset) if d else opset for d in domains}
    return [s.name for d in domains for s in specs.overlaid(versions[d], d)]


@dataclass(frozen=True)
class Generated(ProducedModel):
    """A program and the draws that made it."""

    program: Program
    wish: ProgramRequest
    choices: tuple[Draw, ...]

    @cached_property
    def trace(self) -> dict[str, Any]:
        """What makes the program again, JSON-able: what was wished for, every draw, SHA-256 of ``to_bytes()``
        (``docs/generation.md``). ``rebuild_generated`` takes it.
        """
        wish = self.wish
        return {
            "schema": SCHEMA,
            "irfuzz": __version__,
            "generated": {
                "version": VERSION,
                "topology": wish.topology,
                "nodes": wish.nodes,
                "ops": None if wish.ops is None else list(wish.ops),
                "opset": wish.opset,
                **({"domains": list(wish.domains)} if wish.domains else {}),
            },
            "choices": list(self.choices),
            "sha256": sha256(self._bytes),
        }


def generate(
    *,
    n: int = 1,
    seed: int = 0,
    nodes: int = 10,
    ops: Sequence[str] | None = None,
    topology: str = "free",
    opset: int = 17,
    domains: Sequence[str] = (),
) -> Iterator[Generated]:
    """``n`` valid programs made from nothing; equal arguments give equal bytes in every process.

    Operators, attributes and element types that were used rarely so far are preferred.

    Example:
        >>> import irfuzz
        >>> [len(made.program.nodes()) >= 5 for made in irfuzz.generate(n=3, seed=7, nodes=5)]
        [True, True, True]

    Args:
        n: how many programs.
        seed: of all random choices.
        nodes: a program is done as soon as it has so many.
        ops: names of the only operators to use. In a chain or in cells, what merges values and fits them together comes
            on top, and ``Shape`` or ``Size`` behind a random operator, of which nothing else is read.
        topology: ``chain``, ``cell`` (both as Muffin has them) or ``free``.
        opset: 13, 17, 18 or 21.
        domains: other domains whose operators are drawn, besides those that ``ops`` name.

    Yields:
        Programs; fewer than ``n`` only if the operators fit nothing.

    Raises:
        UsageError: a wrong argument, at once and not at the first program.
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise UsageError(f"n: expected 0 or more programs, got {n!r}")
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise UsageError(f"seed: expected an integer, got {seed!r}")
    for flag, given in (("ops", ops), ("domains", domains)):
        if isinstance(given, str):
            raise UsageError(f"{flag}: expected a list of names, got the text {given!r}")
    named = None if ops is None else tuple(sorted({full_name(*split_name(op)) for op in ops}))
    return _generated(ProgramRequest(topology, nodes, named, opset, known_domains(load_specs(), domains)), n, seed)


def _generated(wish: ProgramRequest, n: int, seed: int) -> Iterator[Generated]:
    seen = FeatureCounts()
    context = Context(load_specs(), seen)
    made = failed = attempt = 0
    while made < n and failed < _ATTEMPTS:
        choices = Choices.from_seed(f"{seed}:{attempt}")
        attempt += 1
        try:
            program = _grown(context, wish, choices)
        except InvalidProgram:
            failed += 1
            continue
        failed = 0
        made += 1
        seen.add_program(program)
        yield Generated(program, wish, tuple(choices.record))


def _grown(context: Context, wish: ProgramRequest, choices: Choices) -> Program:
    """One program.

    Raises:
        InvalidProgram: the draws lead to none.
    """
    growth = Growth(context, choices, wish.opset, None if wish.ops is None else frozenset(wish.ops), wish.domains)
    TOPOLOGIES[wish.topology](growth, wish.nodes)
    program = growth.finish()
    # What merges values in cells is no layer.
    if not any(wish.ops is None or full_name(node.domain, node.op_type) in wish.ops for node in program.graph):
        raise InvalidProgram("no layer could be inserted")
    problems = verify(program, context.specs)
    if problems:
        raise InvalidProgram(str(problems[0]))
    return program


def read_generated(path: Path) -> dict[str, Any] | None:
    """The trace of a generated program in a file; ``None`` if it is none, whatever else it may be. Whether its fields
    are right, ``rebuild_generated`` tells.
    """
    try:
        data = json.loads(read_plain(path, MAX_BYTES))
    except (InvalidProgram, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) and "generated" in data else None


def rebuild_generated(trace: Mapping[str, Any]) -> bytes:
    """Make a generated program again.

    Args:
        trace: as ``Generated.trace`` gives it.

    Returns:
        The program's bytes, the same as when it was first made.

    Raises:
        InvalidProgram: the trace is not one of these, of another version, or gives another program.
    """
    if trace.get("schema") != SCHEMA:
        raise InvalidProgram(f"field schema: expected {SCHEMA}, got {trace.get('schema')!r}")
    about, draws = trace.get("generated"), trace.get("choices")
    fields = {"version", "topology", "nodes", "ops", "opset"}
    if not isinstance(about, dict) or set(about) not in (fields, fields | {"domains"}):
        raise InvalidProgram(f"field generated: expected version, topology, nodes, ops and opset, got {about!r}"[:200])
    if about["version"] != VERSION:
        raise InvalidProgram(f"made by version {about['version']!r} of the generator, this one is {VERSION}")
    if not isinstance(draws, list) or not all(type(d) is int or (type(d) is float and math.isfinite(d)) for d in draws):
        raise InvalidProgram("field choices: expected a list of finite numbers")
    ops, domains = about["ops"], about.get("domains", [])
    for field, names in (("ops", ops), ("domains", domains)):
        if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
            raise InvalidProgram(f"field generated.{field}: expected null or a list of names, got {names!r}"[:200])
    try:
        named = None if ops is None else tuple(ops)
        wish = ProgramRequest(about["topology"], about["nodes"], named, about["opset"], tuple(domains))
    except (UsageError, TypeError) as error:
        raise InvalidProgram(f"field generated: {error}") from None
    choices = Choices.from_record(draws)
    data = _grown(Context(load_specs()), wish, choices).to_bytes()
    if len(choices.record) != len(draws):
        raise InvalidProgram(f"expected to use {len(draws)} draws, used {len(choices.record)}")
    if sha256(data) != trace.get("sha256"):
        raise InvalidProgram(
            f"expected a model with sha256 {trace.get('sha256')}, got {sha256(data)}; the trace was made by irfuzz "
            f"{trace.get('irfuzz')}, this is {__version__}"
        )
    return data
