"""Makes a small program that covers a large one's layer inputs, parameters and sequences (COMET, algorithm 1)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from irfuzz.choices import Choices
from irfuzz.errors import InternalError, InvalidProgram
from irfuzz.frontends.produced_model_conversions import ProducedModel
from irfuzz.generate.synthesis_steps.covered_features import Feature, counts, features_of, wanted_of
from irfuzz.generate.synthesis_steps.nodes_as_parts import all_weights, lower_bound, parts_of
from irfuzz.generate.synthesis_steps.part_assembly import assemble
from irfuzz.generate.synthesis_steps.part_selection import select
from irfuzz.generate.synthesis_steps.size_naming import name_sizes
from irfuzz.generate.synthesis_steps.weight_reduction import lighten
from irfuzz.ir.inlining import without_functions
from irfuzz.ir.input_defaults import at_defaults
from irfuzz.ir.program import Program
from irfuzz.ir.subgraphs import nodes_within
from irfuzz.ir.verifier import verify
from irfuzz.mutate.traced_mutant_generation import Model, load

if TYPE_CHECKING:
    from irfuzz.spec import Specs

WEIGHTS = 0.01
"""Share of the original's weights that the result may have."""


@dataclass(frozen=True)
class Synthesis(ProducedModel):
    """A small program, and what it has in common with the large one.

    Attributes:
        program: it covers every feature that was wanted.
        wanted: how many features that are, by criterion (``input``, ``parameter``, ``sequence``).
        nodes: of the original, and of the result.
        bound: by operator, how many nodes any program needs that covers the same.
        weights: elements of all constants of the original, and of the result.
        seconds: that it took.
    """

    program: Program
    wanted: dict[str, int]
    nodes: tuple[int, int]
    bound: dict[str, int]
    weights: tuple[int, int]
    seconds: float

    @property
    def least(self) -> int:
        """The lower bound on the number of nodes of any program that covers the same: the sum of ``bound``."""
        return sum(self.bound.values())

    def to_json(self) -> dict[str, Any]:
        """Everything but the program, as JSON-able data: features by criterion, nodes and weights before and after,
        bounds, and seconds to three decimals.
        """
        return {
            "features": self.wanted,
            "nodes": {"before": self.nodes[0], "after": self.nodes[1], "bound": self.least},
            "bound": self.bound,
            "weights": {"before": self.weights[0], "after": self.weights[1]},
            "seconds": round(self.seconds, 3),
        }


def synthesize(
    program: Model, *, seed: int = 0, specs: Specs | None = None, progress: Callable[[str], None] = lambda text: None
) -> Synthesis:
    """A small program that covers what a large one covers.

    COMET inserts layers one by one and adapts them to each other. Here calls of the original are kept as they are, few
    of them, so that nothing has to be adapted: a value that is not computed any more becomes an input, and one that has
    the type and sizes of another may take its place (docs/generation.md).

    Example:
        >>> import irfuzz, onnx.parser
        >>> model = onnx.parser.parse_model(
        ...     '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) '
        ...     "{ a = Log(x) b = Log(a) c = Log(b) d = Log(c) y = Log(d) }"
        ... )
        >>> len(irfuzz.synthesize(model).program.nodes()) < 5
        True

    Args:
        program: a program, or a model in any form that ``irfuzz.mutate`` takes; it stays as it is. Calls of its local
            functions count as the nodes in them.
        seed: equal seeds and programs give equal bytes.
        specs: operator specs (default: the shipped ones).
        progress: told what is being done.

    Raises:
        InvalidProgram: the program has no node of ONNX's own operators, or a function that cannot be written out, or
            breaks a rule of ONNX in what is kept of it.
        InternalError: what was built does not cover what was wanted.
    """
    if specs is None:
        from irfuzz.spec import load_specs

        specs = load_specs()
    began = time.monotonic()
    progress("collecting what is covered")
    program = name_sizes(without_functions(at_defaults(load(program))))
    found = features_of(program, specs)
    if not found:
        raise InvalidProgram("it has no operator of ONNX's own domain, so nothing is covered")
    wanted = wanted_of(found)
    parts = parts_of(program, specs)
    bound = lower_bound(wanted, specs, program.opset)
    before = all_weights(program)
    choices = Choices.from_seed(seed)
    allowance = int(before * WEIGHTS)
    selection = select(parts, wanted, sum(bound.values()), allowance, choices, progress)
    progress("building")
    small = assemble(program, parts, wanted, selection, choices)
    small = lighten(small, allowance)
    missing = wanted.missing(features_of(small, specs))
    if missing:
        raise InternalError(f"model synthesis: the result lacks {_text(missing)}")
    if problems := verify(small, specs):
        if broken := verify(program, specs):
            raise InvalidProgram(f"it breaks a rule of ONNX: {broken[0]}")
        raise InternalError(f"model synthesis: {problems[0]}")
    return Synthesis(
        small,
        counts([*wanted.named, *(f for these, n in wanted.several.values() for f in sorted(these)[:n])]),
        (node_count(program), node_count(small)),
        bound,
        (before, all_weights(small)),
        time.monotonic() - began,
    )


def node_count(program: Program) -> int:
    """Nodes of the main graph and of all bodies in it, nested ones included; those of local functions are not
    counted.
    """
    return sum(1 + sum(1 for _ in nodes_within(node)) for node in program.graph)


def _text(missing: list[Feature]) -> str:
    shown = "; ".join(" ".join(feature) for feature in missing[:3])
    return shown if len(missing) <= 3 else f"{shown} (and {len(missing) - 3} more)"
