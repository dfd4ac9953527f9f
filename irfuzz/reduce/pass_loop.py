"""The passes that make a failing case smaller, in their order, and the loop that runs them until none does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TypeAlias

from irfuzz.execute.run_types import Value
from irfuzz.ir.program import Program
from irfuzz.reduce.passes.attribute_value_simplification import simplify_attributes
from irfuzz.reduce.passes.body_inlining import inline_calls, simplify_bodies, unwrap_bodies
from irfuzz.reduce.passes.cast_removal import drop_casts
from irfuzz.reduce.passes.computed_value_to_input import begin_later, cut_single_values
from irfuzz.reduce.passes.constant_folding import fold_known
from irfuzz.reduce.passes.data_simplification import simplify_inputs, simplify_weights
from irfuzz.reduce.passes.float32_conversion import compute_in_float
from irfuzz.reduce.passes.input_merging import feed_weights, merge_inputs
from irfuzz.reduce.passes.name_shortening import drop_texts, shorten_names
from irfuzz.reduce.passes.node_bypass import bypass_nodes, skip_nodes
from irfuzz.reduce.passes.opset_lowering import lower_opset
from irfuzz.reduce.passes.optional_part_removal import drop_attributes, drop_optional_inputs
from irfuzz.reduce.passes.output_removal import end_earlier, keep_one_output
from irfuzz.reduce.passes.size_shrinking import bind_names, shrink_sizes
from irfuzz.reduce.session import OnTry, OutOfBudget, Reduced, Session, Still, ValuesOf

Pass: TypeAlias = Callable[[Session], bool]
"""Tries to make the best case smaller; True where it did."""

STRUCTURE: tuple[Pass, ...] = (
    bind_names,  # what has open sizes cannot become an input in the middle
    keep_one_output,
    end_earlier,
    begin_later,
    inline_calls,
    unwrap_bodies,
    fold_known,
    bypass_nodes,
    cut_single_values,
    skip_nodes,
    drop_casts,
    simplify_bodies,
    drop_optional_inputs,
    drop_attributes,
    simplify_attributes,
)
"""Fewer nodes; those that remove most for the fewest tries come first."""

DATA: tuple[Pass, ...] = (
    shrink_sizes,
    compute_in_float,
    simplify_inputs,
    simplify_weights,
    merge_inputs,
    feed_weights,
)
"""Smaller and plainer tensors, once no node can be removed."""

LOOKS: tuple[Pass, ...] = (lower_opset, drop_texts, shorten_names)
"""Nothing that a reader does not need; once, at the end."""


def reduce_case(
    program: Program,
    inputs: Mapping[str, Value],
    still: Still,
    *,
    values_of: ValuesOf | None = None,
    seconds: float = 20.0,
    tries: int = 500,
    each: float = 0.0,
    starts: Iterable[tuple[Program, Mapping[str, Value]]] = (),
    jobs: int = 1,
    skip: Collection[bytes] = (),
    on_try: OnTry | None = None,
) -> Reduced:
    """The smallest case found within the budget; the given one if no smaller one fails.

    Args:
        program: the failing program; it stays as it is. What is invalid on purpose stays so.
        inputs: by name.
        still: tells whether a candidate still shows the fault; it is only given programs that are as valid as the
            first: those that break the same rules of ONNX, of the same nodes, as a rule none.
        values_of: gives inner values, so that a program can be cut in the middle.
        seconds: wall time.
        tries: most calls of ``still``.
        each: seconds that a candidate takes which still fails, as one that hangs does; none is begun that has not got
            so many.
        starts: smaller cases that are likely to fail, the likeliest and smallest first; the passes begin with the
            first that does.
        jobs: candidates that are tried at once; ``still`` is called from as many threads.
        skip: digests of cases that are known not to fail (``OnTry``).
        on_try: told of every candidate.
    """
    session = Session(
        program.clone(), inputs, still, values_of, seconds, tries, each=each, jobs=jobs, skip=skip, on_try=on_try
    )
    complete, settled = True, False
    try:
        any(session.attempt(one.clone(), given) for one, given in starts)
        while True:
            _settle(session, STRUCTURE)
            settled = True
            # Data that became plainer may be what kept a node.
            if not _settle(session, DATA):
                break
        for one in LOOKS:
            one(session)
    except OutOfBudget:
        complete = False  # what was found stands
    finally:
        session.close()
    return session.best(complete=complete, settled=settled)


def _settle(session: Session, passes: tuple[Pass, ...]) -> bool:
    """Run passes until none of them makes the case smaller."""
    found = False
    while any([one(session) for one in passes]):  # noqa: C419 - every pass has its turn in each round
        found = True
    return found
