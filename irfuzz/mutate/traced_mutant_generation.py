"""An endless variety of valid mutants of a model in any form, each with the trace that makes it again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import onnx
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.errors import UsageError
from irfuzz.frontends.framework_conversion import Converters
from irfuzz.frontends.graphsurgeon_conversion import from_graphsurgeon, is_graphsurgeon
from irfuzz.frontends.onnx_file import load_seed
from irfuzz.frontends.opaque_output_type_inference import complete_types, untyped
from irfuzz.frontends.produced_model_conversions import ProducedModel
from irfuzz.ir.program import Program
from irfuzz.mutate.feature_counts import FeatureCounts
from irfuzz.mutate.insertion.splice import donors_taken
from irfuzz.mutate.mutation_engine import AttemptCounts, Engine
from irfuzz.mutate.mutation_trace import FixedDonors, Origin, Trace, sha256
from irfuzz.mutate.mutator_protocol import Edit, Relation
from irfuzz.mutate.user_mutation_constraints import Constraints
from irfuzz.spec import full_name, load_specs, split_name

Model: TypeAlias = "Program | onnx.ModelProto | ir.Model | bytes | str | Path"
"""What ``mutate`` takes, besides an ``onnx_graphsurgeon.Graph``; text is a path (docs/models.md)."""


POOL = 64
"""How many mutants are kept as parents, besides the seeds."""

MAX_DEPTH = 24
"""A mutant made by more edits than this is not mutated further."""


@dataclass(frozen=True)
class TracedMutant(ProducedModel):
    """A mutant and everything that made it.

    Attributes:
        program: the mutant.
        seed: the program that the first edit changed.
        donors: programs that splices took parts from.
        edits: all of them, from the seed on.
        counts: what was tried for the last step.
    """

    program: Program
    seed: Origin
    donors: tuple[Origin, ...]
    edits: tuple[Edit, ...]
    counts: AttemptCounts

    @property
    def declared_invalid(self) -> bool:
        """True if an edit breaks a rule of ONNX on purpose, as those of ``invalid-value`` and
        ``invalid-element`` do.
        """
        return any(edit.relation is Relation.INVALID for edit in self.edits)

    @cached_property
    def trace(self) -> dict[str, Any]:
        """What makes the mutant again, JSON-able: seed, donors, every edit with its choices, SHA-256 of ``to_bytes()``
        (``docs/mutators.md``). ``irfuzz.rebuild`` takes it.
        """
        return Trace(self.seed, self.donors, self.edits, sha256(self._bytes)).to_json()


@dataclass(frozen=True, slots=True)
class _Parent:
    program: Program
    seed: Origin
    edits: tuple[Edit, ...]

    @property
    def declared_invalid(self) -> bool:
        return any(edit.relation is Relation.INVALID for edit in self.edits)


def load(model: Model) -> Program:
    """A program from any form of a model.

    Example:
        >>> import irfuzz, onnx.parser
        >>> model = onnx.parser.parse_model(
        ...     '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Neg(x) }'
        ... )
        >>> [node.op_type for node in irfuzz.load(model).nodes()]
        ['Neg']

    Args:
        model: a path, serialized bytes, a ``ModelProto``, an ``onnx_ir.Model``, an ``onnx_graphsurgeon.Graph``, or a
            program, which is returned as it is.

    Raises:
        UsageError: a path that cannot be read.
        InvalidProgram: the model breaks a rule of ONNX.
    """
    if isinstance(model, Program):
        return model
    if isinstance(model, onnx.ModelProto):
        return _typed(Program.from_proto(model))
    if isinstance(model, ir.Model):
        return _typed(Program.from_model(model))
    if isinstance(model, bytes):
        return _typed(Program.from_bytes(model))
    if is_graphsurgeon(model):
        return _typed(Program.from_proto(from_graphsurgeon(model)))
    if not isinstance(model, str | Path):
        raise UsageError(
            "expected a model (ModelProto, onnx_ir.Model, onnx_graphsurgeon.Graph, bytes, Program or a path), got "
            f"{type(model).__name__}"
        )
    return load_seed(Path(model))


def _typed(program: Program) -> Program:
    """The program, with the types of what opaque nodes give: a model that was never a file may state none."""
    if lacking := untyped(program):
        with Converters() as converters:
            complete_types(program, lacking, converters)
    return program


def mutate(
    model: Model | Sequence[Model],
    *,
    seed: int = 0,
    n: int = 1,
    mutators: Sequence[str] | None = None,
    max_nodes: int | None = None,
    edits: int | None = None,
    weights: Mapping[str, float] | None = None,
    ops: Sequence[str] | None = None,
    keep: Sequence[str] = (),
    domains: Sequence[str] = (),
) -> Iterator[TracedMutant]:
    """``n`` valid mutants of a model, or of several; equal arguments give equal bytes in every process.

    Mutants become parents of later ones, and those that show something new are kept longest.

    Example:
        >>> import irfuzz, onnx.parser
        >>> model = onnx.parser.parse_model(
        ...     '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Log(x) }'
        ... )
        >>> mutants = list(irfuzz.mutate(model, seed=7, n=3))
        >>> [len(mutant.edits) > 0 for mutant in mutants]
        [True, True, True]
        >>> type(mutants[0].model_proto)
        <class 'onnx.onnx_ml_pb2.ModelProto'>

    Args:
        model: a program, a ``ModelProto``, an ``onnx_ir.Model``, an ``onnx_graphsurgeon.Graph``, serialized bytes or a
            path, or a list of these; with several, ``splice`` takes parts of one into another.
        seed: of all random choices.
        n: how many mutants.
        mutators: names of the mutators to use (default: all but those that have to be named, as ``invalid-value`` and
            ``invalid-element``, which break rules on purpose, and ``rare-dtype``).
        max_nodes: most nodes of a mutant (default: 200, or 30 more than the largest seed has).
        edits: edits from parent to mutant (default: 1 to 4, drawn).
        weights: how often each mutator is tried, relative to the others.
        ops: names of the only operators that are inserted; what fits values to their readers (Cast, Reshape,
            Slice, ...) comes on top (default: all).
        keep: names of nodes, or of values that they compute, that stay as they are: operator, attributes, what they
            read and the nodes that compute that.
        domains: other domains whose operators are inserted, besides those that nodes of the model, or ``ops``, name.

    Yields:
        Mutants; fewer than ``n`` only if no mutator applies to any seed.

    Raises:
        UsageError: a wrong argument.
        InvalidProgram: a model breaks a rule of ONNX.
    """
    models: list[Any] = list(model) if isinstance(model, list | tuple) else [model]
    named = [(Path(m).name if isinstance(m, str | Path) else "", load(m)) for m in models]
    return mutate_many(
        named,
        seed=seed,
        n=n,
        mutators=mutators,
        max_nodes=max_nodes,
        edits=edits,
        weights=weights,
        ops=ops,
        keep=keep,
        domains=domains,
    )


def mutate_many(
    named: Sequence[tuple[str, Program]],
    *,
    seed: int = 0,
    n: int = 1,
    mutators: Sequence[str] | None = None,
    max_nodes: int | None = None,
    edits: int | None = None,
    weights: Mapping[str, float] | None = None,
    ops: Sequence[str] | None = None,
    keep: Sequence[str] = (),
    domains: Sequence[str] = (),
) -> Iterator[TracedMutant]:
    """``mutate`` on programs that are loaded already, each with the name by which traces tell people of it.

    Arguments other than ``named`` mean what they mean there. Nothing is mutated before the first item is asked for.

    Raises:
        UsageError: a wrong argument, at once and not at the first mutant.
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise UsageError(f"n: expected 0 or more mutants, got {n!r}")
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise UsageError(f"seed: expected an integer, got {seed!r}")
    if isinstance(mutators, str):
        raise UsageError(f"mutators: expected a list of names, got the text {mutators!r}")
    if edits is not None and edits < 1:
        raise UsageError(f"edits: expected at least 1, got {edits}")
    if not named:
        raise UsageError("no model to mutate")
    if max_nodes is None:
        max_nodes = max(200, *(len(p.nodes()) + 30 for _, p in named))
    for flag, given in (("ops", ops), ("keep", keep), ("domains", domains)):
        if isinstance(given, str):
            raise UsageError(f"{flag}: expected a list of names, got the text {given!r}")
    specs = load_specs()
    ops = None if ops is None else [full_name(*split_name(op)) for op in ops]
    constraints = Constraints(None if ops is None else frozenset(ops), tuple(keep))
    constraints.check([p for _, p in named])
    seen = constraints.counts()
    for _, program in named:
        seen.add_program(program)
    donors = FixedDonors({p.digest: p for _, p in named})
    engine = Engine(
        specs,
        mutators,
        max_nodes=max_nodes,
        seen=seen,
        donors=donors,
        weights=weights,
        constraints=constraints,
        domains=[*domains, *(split_name(op)[0] for op in ops or ())],
    )
    return _mutants(named, engine, seen, Choices.from_seed(seed), n, edits)


def _mutants(
    named: Sequence[tuple[str, Program]],
    engine: Engine,
    seen: FeatureCounts,
    choices: Choices,
    n: int,
    edits: int | None,
) -> Iterator[TracedMutant]:
    origins = {p.digest: Origin(p.digest, sha256(p.to_bytes()), name) for name, p in named}
    seeds = [_Parent(p, origins[p.digest], ()) for _, p in named]
    room = 0.8 * engine.max_nodes
    pool: list[_Parent] = []
    made = failures = 0
    while made < n and failures < 20 * len(seeds):
        parent = choices.pick(pool) if pool and choices.boolean(0.6) else choices.pick(seeds)
        mutant = engine.mutate(parent.program, choices, edits or choices.integer(1, 4))
        choices.record.clear()
        if mutant is None:
            failures += 1
            continue
        failures = 0
        made += 1
        child = _Parent(mutant.program, parent.seed, parent.edits + mutant.edits)
        valid = not child.declared_invalid
        new = valid and seen.add_mutant(mutant.program)
        if (
            valid
            and len(child.edits) < MAX_DEPTH
            and len(mutant.program.nodes()) < room
            and (new or choices.boolean(0.2))
        ):
            if len(pool) < POOL:
                pool.append(child)
            else:
                pool[choices.index(POOL)] = child
        donors = tuple(origins[digest] for digest in donors_taken(child.edits))
        yield TracedMutant(mutant.program, child.seed, donors, child.edits, mutant.counts)
