"""What the exporters must know of a framework to write its source."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import onnx_ir as ir

from irfuzz.errors import Unsupported

if TYPE_CHECKING:
    from irfuzz.export.source.emitter_context import Emitted, Emitter, EmitterContext

FLOATS = frozenset({ir.DataType.FLOAT, ir.DataType.DOUBLE, ir.DataType.FLOAT16, ir.DataType.BFLOAT16})


@dataclass(frozen=True)
class FrameworkDescription:
    """A framework that generated modules compute with.

    Attributes:
        component: its name in targets and errors.
        title: its name in prose.
        support: package of the functions that generated modules carry with them.
        imports: import lines of a module, each with the text that calls for it; ``""`` stands for always.
        reserved: identifiers that its modules use.
        dtypes: how it spells the element types that it holds exactly.
        plain: element types that surely have its usual operators.
        forms: what emitters write in place of a call of a support function, as templates.
        emitters: emitter of each (domain, operator).
        run: lines of the body of ``run(arrays, inputs)``.
        before: lines that stand before those of a node.
        after: lines that stand behind them, when its outputs have their values.
        always: support functions that every module carries.
        keeps: of a local function, whether the framework has a layer for it; calls of all others are inlined.
        layer: emitter of the calls that are kept, which also gets the function.
        replacements: package of functions that stand for those of the same name in ``support``; none if empty.
        array_module: the line that imports NumPy.
        weight: support function that makes a weight of an array.
    """

    component: str
    title: str
    support: str
    imports: tuple[tuple[str, str], ...]
    reserved: frozenset[str]
    dtypes: Mapping[ir.DataType, str]
    plain: frozenset[ir.DataType]
    forms: Mapping[str, str]
    emitters: Mapping[tuple[str, str], Emitter] = field(repr=False)
    run: tuple[str, ...]
    before: Callable[[EmitterContext, ir.Node], Sequence[str]] | None = None
    after: Callable[[EmitterContext, ir.Node], Sequence[str]] | None = None
    always: frozenset[str] = frozenset({"to_tensor", "to_array"})
    keeps: Callable[[ir.Function], bool] = lambda _function: False
    layer: Callable[[EmitterContext, ir.Node, ir.Function], Emitted] | None = None
    replacements: str = ""
    array_module: str = "import numpy as np"
    weight: str = "to_tensor"

    def spelled(self, dtype: ir.DataType | int, where: str) -> str:
        """How the framework spells ``dtype``, as ``torch.float32``.

        Args:
            dtype: an element type of ONNX, or its number.
            where: the operator, input or constant that needs it, for the error.

        Raises:
            Unsupported: the framework cannot compute exactly in this type.
        """
        known = ir.DataType(dtype)
        if known not in self.dtypes:
            raise Unsupported(
                self.component, where, f"no exact {self.component} arithmetic for element type {known.name}"
            )
        return self.dtypes[known]
