"""Why a disagreement may be nobody's fault: a table of small functions, each for the symptoms that it may excuse.

An oracle describes what it has found as a ``Dispute``. The first excuse that applies makes the verdict a suspect and is
its reason. ``docs/oracles.md`` lists the table; before adding a line, write down which true bug it could hide, and run
the planted faults with and without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict, Unpack

from irfuzz._native import difference
from irfuzz.execute.run_types import Target
from irfuzz.oracle import refusal_excuses as refused
from irfuzz.oracle.dataflow.undefined_behaviour import BEFORE_A_RUN
from irfuzz.oracle.dispute import Dispute
from irfuzz.oracle.numeric.dtype_thresholds import FACTOR, QUANTISATION_MOST, QUANTISATION_STEP, huge
from irfuzz.oracle.verdict import Fact, Symptom, Verdict
from irfuzz.oracle.witnesses_and_blame import kernels_of
from irfuzz.spec import with_trait

ALONE = "no two independent witnesses against it alone"

MAJORITY = 3
"""So many libraries of kernels that do one thing with NaN contradict the one that does another."""


SHADERS = frozenset({"webgpu"})
"""Components that compute in WGSL, the language of WebGPU."""

SHADER_ERROR = 2.0**-9
"""Four times the absolute error that WGSL allows its least exact functions (15.7.4), of the largest value."""


def lacks_witness(verdict: Verdict) -> bool:
    """Whether another witness may settle what is a suspect for want of one."""
    return verdict.doubt == ALONE


@dataclass(frozen=True, slots=True)
class Excuse:
    """One reason why correct components may differ.

    Attributes:
        name: kebab-case.
        symptoms: what it may excuse.
        why: gives the reason in a dispute, empty if it does not apply; its docstring is the entry in the docs.
        of_rules: it applies to elements that ONNX's rules decide, too: it doubts witnesses, not values.
    """

    name: str
    symptoms: tuple[Symptom, ...]
    why: Callable[[Dispute], str] = field(repr=False)
    of_rules: bool = False

    @property
    def about(self) -> str:
        """When it applies, in one sentence."""
        return " ".join((self.why.__doc__ or "").split())


def excuse_of(dispute: Dispute) -> str:
    """The reason of the first excuse in the table that applies; empty if nothing speaks for the target."""
    return _first(dispute)[1]


def _first(dispute: Dispute) -> tuple[str, str]:
    """Name and reason of the first excuse that applies."""
    for excuse in EXCUSES:
        if dispute.ruled and not excuse.of_rules:
            continue
        if dispute.symptom in excuse.symptoms and (why := excuse.why(dispute)):
            return excuse.name, why
    return "", ""


class VerdictFields(TypedDict, total=False):
    """What an oracle saw, as fields of a ``Verdict``."""

    output: str
    bound: float | None
    element: str
    got: str
    expected: str
    exit: str
    stage: str
    message: str
    operator: str
    rule: str


def verdict_on(
    dispute: Dispute,
    oracle: str,
    others: Sequence[Target],
    evidence: Mapping[str, Fact] | None = None,
    **seen: Unpack[VerdictFields],
) -> Verdict:
    """The verdict on a dispute: a finding, or if an excuse applies a suspect with that as its doubt.

    Args:
        dispute: what was found.
        oracle: who says it.
        others: targets of the same component that show the same.
        evidence: further facts for readers.
        seen: what the oracle saw.
    """
    told = dict(evidence or {})
    if dispute.unsteady:
        told["unsteady"] = ", ".join(sorted(dispute.unsteady))
    excuse, why = _first(dispute)
    return Verdict(
        oracle,
        dispute.symptom,
        dispute.target.name,
        tuple(t.name for t in dispute.witnesses),
        bool(why),
        distance=dispute.distance,
        evidence=told,
        doubt=why,
        excuse=excuse,
        also=tuple(t.name for t in others),
        **seen,
    )


# ---- types, shapes and values -------------------------------------------------------------------


def _moved_by_rounding(d: Dispute) -> str:
    """Moves of the inputs by a rounding change every element that differs."""
    return "moving the inputs by rounding errors changes it" if d.blurred else ""


def _alone(d: Dispute) -> str:
    """Fewer than two independent witnesses contradict it, or somebody independent supports it."""
    return "" if d.firm else ALONE


def _invalid_on_purpose(d: Dispute) -> str:
    """An edit broke a rule of ONNX on purpose."""
    return "the program is invalid on purpose" if d.case.expected_invalid else ""


def _computed_shape(d: Dispute) -> str:
    """The shape depends on computed values, and rounding errors change it, or nobody could try."""
    found = () if d.path is None or d.fixed_shape else d.path.data_shaped
    if not found or d.steady_shape():
        return ""
    return f"the shape depends on computed values ({', '.join(found)})"


def _undefined_call(d: Dispute) -> str:
    """A call on the way is itself beyond what its specification allows; what only elements meet excuses no type, and
    of shapes only those that elements decide.
    """
    values = d.symptom is Symptom.WRONG_SHAPE and not d.fixed_shape
    found = [] if d.path is None else [o.what for o in d.path.open if values or o.what.endswith(_OF_CALLS)]
    return f"undefined behaviour ({', '.join(found)})" if found else ""


def _undefined(d: Dispute) -> str:
    """An operator on the way has undefined behaviour declared in `ops/`, unless its condition or what is known of
    the inputs rules it out (`irfuzz/oracle/dataflow/undefined_behaviour.py`: a divisor without zeros, a cast within
    range, indices that all differ, equal maxima whose places nobody reads).
    """
    every = d.symptom is not Symptom.DIFFERENCE or d.specials
    found = [] if d.path is None else [o.what for o in d.path.open if every or not o.specials_only]
    return f"undefined behaviour ({', '.join(found)})" if found else ""


_OF_CALLS = tuple(f": {name}" for name in BEFORE_A_RUN)


def _small_type(d: Dispute) -> str:
    """Types of less than a byte are handed over in several ways."""
    return "types of less than a byte are handed over in several ways" if d.small_type else ""


def _unsteady_witness(d: Dispute) -> str:
    """A witness differs from run to run on the same inputs."""
    unsteady = any(t.name in d.unsteady for t in d.witnesses)
    return "a witness differs from run to run" if unsteady else ""


def _unmeasured_jump(d: Dispute) -> str:
    """Floats behind a discontinuity of which nothing tells how far it moves them."""
    if not d.of_floats or d.path is None or not d.path.jumps or d.measured() or d.settled():
        return ""
    return f"{', '.join(d.path.jumps)} jump, and how far could not be measured"


def _unsafe_specials(d: Dispute) -> str:
    """NaN or Inf is fed or a constant, and not only compared, or is what the witnesses give, and an operator on the way
    is one for which neither IEEE 754 nor plain copying says what to do with it (of NaN Relu, MaxPool, Clip, Min,
    Max...; of infinities, if the shadow has met no NaN, only those that do more than compare). Of Min, Max, Sign, Relu,
    Clip, sums and reductions it excuses nobody whom three libraries contradict, or who answers the same numbers, turned
    around, in another way.
    """
    if d.path is None or not d.specials:
        return ""
    nan = d.path.nan or not d.numeric()
    found = d.path.unsaid.of(nan=nan)
    if not found or (nan and found <= with_trait("nan_by_majority") and _contradicted(d)):
        return ""
    return f"NaN or Inf flows through {', '.join(sorted(found)[:4])}, where ONNX does not define it"


def _contradicted(d: Dispute) -> bool:
    """Whether what a target does with NaN is no choice of its own: everybody chose otherwise, or it did itself."""
    return (d.firm and len(kernels_of(d.witnesses)) >= MAJORITY) or d.two_minds()


def _large_magnitudes(d: Dispute) -> str:
    """Numbers on the way are close to an overflow, and it is not settled that nothing overflows."""
    if d.path is None or d.leaf is None or d.settled():
        return ""
    arrays = list(d.leaf.values.values())
    top = max(d.path.largest, d.path.absorbed, *(difference(a, a).max_a for a in arrays))
    limit = min(huge(dtype) for dtype in (d.path.dtypes | {arrays[0].dtype}))
    return f"magnitudes up to {top:.3g} are close to an overflow" if top >= limit else ""


def _blurred_inside(d: Dispute) -> str:
    """A number is fed or constant whose square overflows the narrowest type: products overflow, or do not,
    depending on their order, and a Tanh or Clip hides it; or an operator makes NaN of ordinary numbers (Asin, Log,
    Sqrt, Div... outside of their domain, unless what is known of the inputs rules that out) and one behind it may
    hide it (ArgMax, MaxPool, Relu...); or subnormal numbers, or numbers whose products are, reach a discontinuity,
    logarithm or division: components may flush them to zero, and TensorFlow, OpenVINO and `torch.compile` do, also
    if an Exp, Softmax, Sigmoid, Pow... before it may make them; or half precision stands before a discontinuity and
    the shadow has met NaN or infinity: a component that computes in single has not. If the shadow has met neither,
    nothing overflows and no NaN is hidden.
    """
    if d.path is None or not d.path.dtypes:
        return ""
    return d.path.flushed(d.target) or (d.path.blur() and d.path.blur(clean=d.clean() or d.settled()))


def _large_output(d: Dispute) -> str:
    """The output is close to an overflow."""
    if not d.of_floats or d.path is None or d.leaf is None:
        return ""
    dtypes = d.path.dtypes | {next(iter(d.leaf.values.values())).dtype}
    large = d.case.magnitude(d.leaf) >= min(huge(dtype) for dtype in dtypes)
    return "magnitudes are close to an overflow" if large else ""


def _unmeasured_step(d: Dispute) -> str:
    """Whole numbers computed from floats of which nothing tells how near they are to a step."""
    if d.of_floats or d.path is None or not d.path.dtypes or d.measured():
        return ""
    return "computed from floats, and how near it is to a step could not be measured"


def _converted_specials(d: Dispute) -> str:
    """NaN or Inf reaches a conversion to whole numbers."""
    found = () if d.of_floats or d.path is None or not d.path.specials else sorted(d.path.unsaid.converts)
    return f"NaN or Inf reaches {', '.join(found)} to whole numbers, which ONNX does not define" if found else ""


def _shader_specials(d: Dispute) -> str:
    """NaN or Inf is fed, is a constant, or is what the witnesses give, and the target computes in WGSL, by whose text
    (15.7.2) shaders may be compiled as if there were none.
    """
    return "WGSL lets a shader assume that there is neither NaN nor Inf" if _in_shaders(d) and d.specials else ""


def _shader_accuracy(d: Dispute) -> str:
    """The target computes in WGSL, a function on the way may have an absolute error of 2**-11 there (15.7.4), such as
    Sin or Acos, or loses what cancels in a formula, such as Asinh, and the difference is at most four times that of
    the largest value.
    """
    if not _in_shaders(d) or d.path is None or d.leaf is None or d.distance is None:
        return ""
    found = sorted(d.path.ops & with_trait("shader_inexact"))
    judge = d.leaf.values[d.witnesses[0].name]
    if not found or d.distance > SHADER_ERROR * max(1.0, difference(judge, judge).max_a):
        return ""
    return f"WGSL allows {', '.join(found[:4])} an absolute error of 2**-11"


def _in_shaders(d: Dispute) -> bool:
    return d.target.component in SHADERS


def _within_steps(d: Dispute) -> str:
    """Whole numbers differ by a step of rounding, or by 2/127 of the range for each of several quantising
    operators; not behind one that quantises and nothing else that rounds or jumps, if moves of the inputs by a
    hundred roundings do not change them.
    """
    if d.of_floats or d.path is None or d.leaf is None or not d.path.dtypes or not d.path.rounds or d.distance is None:
        return ""
    alone = d.path.quantised == 1 and with_trait("quantises").issuperset(d.path.jumps)
    alone = alone and not (d.path.narrow or d.path.interpolates)
    if alone and d.measured():
        return ""
    judge = d.leaf.values[d.witnesses[0].name]
    if judge.dtype.kind not in "iu":
        return ""
    share = min(QUANTISATION_MOST, QUANTISATION_STEP * d.path.quantised) if d.path.quantised > 1 else 0.0
    allowed = max(1.0, share * difference(judge, judge).max_a)
    return f"within {allowed:g} steps of rounding" if d.distance <= allowed else ""


def _narrow(d: Dispute) -> str:
    """Half precision overflows if a component does not compute in single."""
    narrow = d.path is not None and d.path.narrow and not d.settled()
    return "half precision overflows where a component does not compute in single" if narrow else ""


def _explosive(d: Dispute) -> str:
    """An operator may overflow inside depending on its formula (Exp, Pow, Softplus, ReduceLogSumExp, Div...)."""
    found = [] if d.path is None or d.path.specials else sorted(d.path.ops & with_trait("intermediate_overflow"))
    if not found or d.settled():
        return ""
    return f"{', '.join(found[:4])} may overflow inside, depending on the formula"


def _edged(d: Dispute) -> str:
    """An edge of a domain (Sqrt, Log, Acos) that was not measured."""
    found = [] if d.path is None or d.path.specials else sorted(d.path.ops & with_trait("domain_edge"))
    if not found or d.measured() or d.settled():
        return ""
    return f"rounding decides on which side of an edge {', '.join(found[:4])} falls, and could not be measured"


def _within_spread(d: Dispute) -> str:
    """No shadow decides, and it lies within a hundred times the witnesses' own spread."""
    near = d.spread > 0 and d.distance is not None and d.distance <= d.spread
    return f"does not exceed {FACTOR:g} times the witnesses' spread" if near else ""


_DTYPE, _SHAPE, _NAN, _VALUE = Symptom.WRONG_DTYPE, Symptom.WRONG_SHAPE, Symptom.NAN_INF, Symptom.DIFFERENCE
_REFUSAL = Symptom.REJECTION
_OVER = (Symptom.HANG, Symptom.MEMORY)


EXCUSES: tuple[Excuse, ...] = (
    Excuse("variant-unsupported", (_REFUSAL,), refused.variant_unsupported),
    Excuse("few-accept", (_REFUSAL,), refused.few_accept),
    Excuse("as-many-reject", (_REFUSAL,), refused.as_many_reject),
    Excuse("element-values", (_REFUSAL,), refused.data_dependent),
    Excuse("sizes-before-the-run", (_REFUSAL,), refused.sized_by_elements),
    Excuse("undefined-refused", (_REFUSAL,), refused.undefined_refused),
    Excuse("nobody-finished", _OVER, refused.nobody_finished),
    Excuse("interpreted", _OVER, refused.interpreted),
    Excuse("slow-witnesses", _OVER, refused.slow_witnesses),
    Excuse("one-finished", _OVER, refused.one_finished),
    Excuse("moved-by-rounding", (_NAN, _VALUE), _moved_by_rounding),
    Excuse("no-witnesses", (_DTYPE, _SHAPE, _NAN, _VALUE), _alone, of_rules=True),
    Excuse("invalid-on-purpose", (_DTYPE, _SHAPE, _NAN, _VALUE), _invalid_on_purpose, of_rules=True),
    Excuse("computed-shape", (_SHAPE,), _computed_shape),
    Excuse("undefined-call", (_DTYPE, _SHAPE), _undefined_call),
    Excuse("undefined", (_NAN, _VALUE), _undefined),
    Excuse("small-types", (_DTYPE,), _small_type),
    Excuse("unsteady-witness", (_VALUE,), _unsteady_witness, of_rules=True),
    Excuse("unmeasured-jump", (_VALUE,), _unmeasured_jump),
    Excuse("unsafe-specials", (_NAN, _VALUE), _unsafe_specials),
    Excuse("shader-specials", (_NAN, _VALUE), _shader_specials, of_rules=True),
    Excuse("shader-accuracy", (_VALUE,), _shader_accuracy),
    Excuse("large-magnitudes", (_NAN,), _large_magnitudes),
    Excuse("blurred-inside", (_NAN, _VALUE), _blurred_inside),
    Excuse("large-output", (_VALUE,), _large_output),
    Excuse("unmeasured-step", (_VALUE,), _unmeasured_step),
    Excuse("converted-specials", (_VALUE,), _converted_specials),
    Excuse("within-steps", (_VALUE,), _within_steps),
    Excuse("narrow", (_NAN,), _narrow),
    Excuse("explosive", (_NAN,), _explosive),
    Excuse("edged", (_NAN,), _edged),
    Excuse("unmeasured-jump-of-specials", (_NAN,), _unmeasured_jump),
    Excuse("within-spread", (_VALUE,), _within_spread),
)
"""In this order they are asked: the first reason is told."""


def as_markdown() -> str:
    """The list of ``docs/oracles.md``."""
    lines = ["| excuse | symptoms | when |", "|---|---|---|"]
    for excuse in EXCUSES:
        symptoms = ", ".join(s.value for s in excuse.symptoms)
        lines.append(f"| `{excuse.name}` | {symptoms} | {excuse.about} |")
    return "\n".join(lines)
