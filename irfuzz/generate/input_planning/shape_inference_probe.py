"""What inference alone says of a program whose inputs have given shapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from irfuzz.errors import InvalidProgram
from irfuzz.facts import TensorFact
from irfuzz.generate.input_planning.open_axes import inputs_of
from irfuzz.ir.program import Program
from irfuzz.ir.subgraphs import bodies_of
from irfuzz.ir.value import is_constant
from irfuzz.ir.verifier import verify
from irfuzz.spec import Specs

Shapes = Mapping[str, tuple[int, ...]]
"""The shape of each input."""


@dataclass(frozen=True, slots=True)
class InferenceProbe:
    """What is known before a run.

    Attributes:
        why_not: the first rule that is broken; empty if none is.
        certain: a run would end with that too: it is not in one of several bodies of which one is taken.
        empty: how many inner tensors have no element.
        unknown: names of values of the main graph whose sizes only a run tells.
        elements: of all values of the main graph whose sizes are known.
    """

    why_not: str = ""
    certain: bool = False
    empty: int = 0
    unknown: tuple[str, ...] = ()
    elements: int = 0

    @property
    def settled(self) -> bool:
        """True if no run is needed to know that all sizes fit: no rule is broken, no size unknown, and no inner tensor
        empty.
        """
        return not self.why_not and not self.unknown and not self.empty


def probe(program: Program, shapes: Shapes, specs: Specs) -> InferenceProbe:
    """Infer a copy of the program with numbers for all sizes of its inputs.

    Args:
        program: stays as it is.
        shapes: of all inputs that ``inputs_of`` gives.
        specs: rules that calls are held to.
    """
    copy = program.clone()
    facts = {v: f for v in inputs_of(copy) if isinstance(f := copy.fact(v), TensorFact)}
    try:
        copy.declare_inputs({v: replace(f, shape=shapes[v.name or ""]) for v, f in facts.items()})
    except InvalidProgram as error:
        text = str(error)
        return InferenceProbe(why_not=text, certain=not any(f" {name}: " in text for name in _BODIES))
    main = {node.name for node in copy.nodes()}
    problems = verify(copy, specs)
    if problems:
        certain = any(any(f"'{name}'" in problem.where for name in main) for problem in problems)
        return InferenceProbe(why_not=str(problems[0]), certain=certain)
    empty, elements, unknown = 0, 0, list[str]()
    for node in copy.nodes():
        inner = any(True for _ in bodies_of(node)) or copy.inference.is_opaque(node)  # only a run tells whether it fits
        for value in node.outputs:
            fact = copy.fact(value)
            size = fact.size() if isinstance(fact, TensorFact) else None
            if size is None or inner:
                unknown += [value.name] if value.name else []
            elements += size or 0
            empty += size == 0 and not is_constant(node) and not _meant(fact)
    return InferenceProbe(empty=empty, unknown=tuple(unknown), elements=elements)


_BODIES = ("then_branch", "else_branch", "body")


def _meant(fact: object) -> bool:
    """True of lists that are empty on purpose: no axes, no pads, the shape of a scalar."""
    return isinstance(fact, TensorFact) and fact.shape == (0,) and fact.dtype.is_integer()
