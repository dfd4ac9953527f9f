"""Draws a valid call of an operator on given inputs."""

from __future__ import annotations

from collections.abc import Mapping

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import Fact, TensorFact, tensors_in
from irfuzz.spec.constraints.sequence_optional_inputs import type_text
from irfuzz.spec.operator_spec import OpSpec, SampledCall, Unusual
from irfuzz.spec.sampling.draw_attempt import DrawAttempt
from irfuzz.spec.sampling.sampled_input_planning import given_types
from irfuzz.spec.sampling.value_drawing import DrawFailed, FeatureWeights, ImpossibleCall

ATTEMPTS = 12

MOST_BESIDE = 1 << 24
"""Elements of a new input that is drawn beside a given one, however large that is."""


def sample_call(
    spec: OpSpec,
    given: Mapping[int, Fact],
    choices: Choices,
    *,
    seen: FeatureWeights | None = None,
    max_elements: int = 4096,
    plain: bool = False,
    unusual: Unusual = "",
    needed: frozenset[int] = frozenset(),
) -> SampledCall | None:
    """Draw attributes and the remaining inputs so that the call is valid and ONNXRuntime's CPU provider runs it.

    Names are bound one after the other and every rule is checked as soon as its names are bound; a dead end starts a
    new attempt, ``ATTEMPTS`` at most.

    Args:
        spec: an operator version with an overlay (without one the answer is ``None``).
        given: by position, static facts of inputs that exist already (of sequences and optionals, whose tensors may
            have any size).
        choices: every draw is recorded there.
        seen: what was covered before; unseen attribute values and element types are preferred.
        max_elements: bound on the elements of each new input, and of the output if the overlay can tell its size (or
            twice the largest given input, if that is more and at most ``MOST_BESIDE``).
        plain: leave out nearly everything that may be left out, as most calls in the wild do.
        unusual: what calls in the wild rarely have: ``scalar`` or ``empty`` inputs, if nothing else is said of their
            sizes, and with either results that are dull as a rule.
        needed: positions of optional inputs that must be there.

    Returns:
        ``None`` if the given facts cannot be inputs (type, rank, values not known) or no attempt succeeded.
    """
    if not spec.is_sampled:
        return None
    sizes = [f.size() for f in given.values() if isinstance(f, TensorFact)]
    if any(s is None for s in sizes):
        return None
    limit = max(max_elements, min(MOST_BESIDE, 2 * max((s for s in sizes if s is not None), default=0)))
    try:
        _check_given(spec, given)
        for _ in range(ATTEMPTS):
            try:
                return DrawAttempt(spec, given, choices, seen, limit, plain=plain, unusual=unusual, needed=needed).run()
            except DrawFailed:
                continue
    except ImpossibleCall:
        return None
    return None


def _check_given(spec: OpSpec, given: Mapping[int, Fact]) -> None:
    """Refuse what no attempt can use: wrong types or ranks, values that must be known and are not."""
    overlay = spec.overlay
    assert overlay is not None
    types: dict[str, ir.DataType] = {}
    for position, outer in given.items():
        formal, fact = spec.formal(position), tensors_in(outer)
        if formal is None or fact is None or fact.dtype not in given_types(spec, formal):
            raise ImpossibleCall
        if type_text(outer) not in formal.types:
            raise ImpossibleCall
        if formal.type_str in spec.type_vars and types.setdefault(formal.type_str, fact.dtype) != fact.dtype:
            raise ImpossibleCall
        domain = overlay.values.get(formal.name)
        if domain is not None and domain.exact and not fact.known:
            raise ImpossibleCall
        patterns = overlay.patterns.get(formal.name, ())
        if patterns and (fact.shape is None or not any(p.fits(len(fact.shape)) for _, p in patterns)):
            raise ImpossibleCall
