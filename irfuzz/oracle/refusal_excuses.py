"""Why a refusal, or a run that went over a limit, may be nobody's fault: the part of the table of ``excuses``."""

from __future__ import annotations

from irfuzz.execute.run_types import Exit, Stage
from irfuzz.oracle.dataflow.undefined_behaviour import BEFORE_A_RUN
from irfuzz.oracle.dispute import Dispute
from irfuzz.oracle.message_normalization import DATA_DEPENDENT
from irfuzz.oracle.symptoms.refusal_justification import EMPTINESS, INDEX, indices_allowed, nothing_of_nothing
from irfuzz.oracle.witnesses_and_blame import REFERENCE, checkers_of, components
from irfuzz.spec import has_trait, with_trait

TRACED = frozenset({"torch", "tensorflow"})
"""Components that capture a program before they run it; XLA and torch.export want sizes to be known by then."""

SLOWEST_WITNESS = 1.0
"""Seconds: if the quickest component needs longer than this, the program is simply large."""


# ---- refusals ---------------------------------------------------------------------------------


def variant_unsupported(d: Dispute) -> str:
    """Another variant of the component runs it, and this one has no kernel: a provider or an option may lack it. A
    higher level of optimisation is no such reason: what it refuses it has made itself.
    """
    unsupported = d.result is not None and d.result.exit is Exit.UNSUPPORTED and not d.proven
    return "says that it does not support what another variant of it runs" if unsupported else ""


def few_accept(d: Dispute) -> str:
    """Fewer than two independent components accept it, unless it contradicts itself: a plainer level of its own
    accepts it, or the type error that it tells of stands in the body of a function that ONNX or the program gives.
    """
    if d.proven or len(checkers_of(d.witnesses)) >= 2:
        return ""
    return f"only {' and '.join(sorted(components(d.witnesses)))} accepts it"


def as_many_reject(d: Dispute) -> str:
    """As many other components reject it as accept it, unless it contradicts itself."""
    return "as many components reject it as accept it" if d.overruled and not d.proven else ""


def data_dependent(d: Dispute) -> str:
    """The message is about values of elements, unless it is about an index, and all of these are known and allowed, or
    about a lack of elements where there are none to compute.
    """
    text = "" if d.result is None else f"{d.result.error}\n{d.result.log}"
    found = DATA_DEPENDENT.search(text)
    if found is None or (INDEX.fullmatch(found.group(0)) and indices_allowed(d.case)):
        return ""
    if EMPTINESS.fullmatch(found.group(0)) and nothing_of_nothing(d.case):
        return ""
    return f"depends on element values ({found.group(0)!r})"


def sized_by_elements(d: Dispute) -> str:
    """TensorFlow or PyTorch cannot trace or compile a program in which elements decide sizes (Compress, NonZero,
    Unique...).
    """
    if d.target.component not in TRACED or d.result is None or d.result.stage not in (Stage.CONVERT, Stage.COMPILE):
        return ""
    # What control flow gives may have any size for other reasons.
    deciding = with_trait("data_dependent_shape") - with_trait("control_flow")
    found = sorted({n.op_type for n in d.case.program.graph.all_nodes()} & deciding)
    return f"sizes that elements decide ({', '.join(found)}) are beyond what it has to compile" if found else ""


def undefined_refused(d: Dispute) -> str:
    """An operator has undefined behaviour that can be met by the stage at which it is refused."""
    graph = d.case.program.graph
    measured = [v for n in graph if has_trait(n, "shape_only") for v in n.inputs if v is not None]
    stage = Stage.RUN if d.result is None else d.result.stage
    # What only NaN or infinities meet decides values, and refuses nothing.
    names = {o.what for v in (*graph.outputs, *measured) for o in d.case.path(v).open if not o.specials_only}
    met = sorted(n for n in names if stage is Stage.RUN or n.partition(": ")[2] in BEFORE_A_RUN)
    return f"undefined behaviour ({', '.join(met)})" if met else ""


def left_open(d: Dispute) -> str:
    """Why a refusal may be right, however many accept the program; empty if nothing speaks for it."""
    return variant_unsupported(d) or data_dependent(d) or sized_by_elements(d) or undefined_refused(d)


# ---- limits -------------------------------------------------------------------------------------


def nobody_finished(d: Dispute) -> str:
    """No target went through."""
    return "" if d.case.ran else "no target went through"


def interpreted(d: Dispute) -> str:
    """The reference evaluator is interpreted, and so no evidence."""
    return "the reference evaluator is interpreted" if d.target.component == REFERENCE else ""


def slow_witnesses(d: Dispute) -> str:
    """The quickest target needs more than a second: the program is simply large."""
    quickest = min((r.seconds for r in d.case.ran), default=0.0)
    return f"the quickest witness needs {quickest:.3g} s" if quickest > SLOWEST_WITNESS else ""


def one_finished(d: Dispute) -> str:
    """Only one component went through."""
    judges = components([r.target for r in d.case.ran])
    return "" if len(judges) >= 2 else f"only {next(iter(judges))} went through"
