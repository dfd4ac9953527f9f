"""Reports shapes that a model declares and does not compute, and replaces them by what is computed.

torch.onnx writes ``[1, seqlen]`` for an output whose dynamic axes were named by hand and that has three. Runtimes warn
and take what they compute; so do we for models that are read from a file. What is declared of a graph's inputs stands,
and so does an element type: it decides what is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from irfuzz.errors import InvalidProgram
from irfuzz.facts import TensorFact
from irfuzz.ir.fact_type_conversion import declare, render

if TYPE_CHECKING:
    import onnx_ir as ir

    from irfuzz.facts import Fact
    from irfuzz.ir.program import Program

MOST = 64
"""So many declarations of one model may be wrong; each costs an inference."""


class MisdeclaredValue(InvalidProgram):
    """A value is declared as something that it is not.

    Attributes:
        value: the value.
        computed: what inference says of it.
        declared: what the model says of it.
    """

    def __init__(self, text: str, value: ir.Value, computed: Fact, declared: Fact) -> None:
        super().__init__(text)
        self.value = value
        self.computed = computed
        self.declared = declared

    @property
    def only_in_shape(self) -> bool:
        """Whether both are tensors of one element type.

        Then the shape that is computed may take the declared one's place.
        """
        return (
            isinstance(self.computed, TensorFact)
            and isinstance(self.declared, TensorFact)
            and self.computed.dtype == self.declared.dtype
        )


def infer_as_computed(program: Program, tell: Callable[[str], None]) -> None:
    """Infer a program whose declared shapes need not hold; those that do not are replaced, and told in one line.

    Raises:
        InvalidProgram: a node is ill-typed, or a declaration is wrong in more than its shape.
    """
    wrong: list[str] = []
    while True:
        try:
            program.infer()
        except MisdeclaredValue as error:
            if not error.only_in_shape or len(wrong) >= MOST:
                raise
            shapes = (fact.shape for fact in (error.declared, error.computed) if isinstance(fact, TensorFact))
            stated, found = map(render, shapes)
            wrong.append(f"{error.value.name!r} is declared {stated}, but it is {found}")
            declare(error.value, error.computed)
        else:
            break
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        tell(f"output {wrong[0]}{more}; what is computed is taken, as runtimes do")
