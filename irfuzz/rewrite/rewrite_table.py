"""Every built-in and installed rewrite by name."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points

from irfuzz.errors import UsageError
from irfuzz.mutate.control_flow.inline_function import InlineFunction
from irfuzz.mutate.control_flow.outline_function import OutlineFunction
from irfuzz.mutate.control_flow.unwrap_control_flow import UnwrapControlFlow
from irfuzz.mutate.control_flow.wrap_if import WrapIf
from irfuzz.mutate.control_flow.wrap_loop import WrapLoop
from irfuzz.mutate.layers.transpose_pair import TransposePair
from irfuzz.mutate.model_interface.convert_opset import ConvertOpset
from irfuzz.mutate.tensor_values.negative_axes import NegativeAxes
from irfuzz.mutate.tensor_values.split_initializer import SplitInitializer
from irfuzz.mutate.tensor_values.store_constant import StoreConstant
from irfuzz.rewrite.rewrite_rule import Exactness, Rewrite
from irfuzz.rewrite.rule_builders import rewrite_by
from irfuzz.rewrite.rules import (
    constant_folding_and_unfolding,
    convolution,
    distributivity,
    elementwise_equivalents,
    inverse_movement_insertion,
    lossless_cast_insertion,
    matrix_products,
    movement_commutation,
    neutral_operation_insertion,
    older_opset,
    onnx_function_body,
    operator_decomposition,
    pixel_value_scaling,
    pooling,
    recurrent_layout,
    recurrent_unrolling,
    reductions,
    separable_convolution,
)

GROUP = "irfuzz.rewrites"
"""Entry-point group: each entry is a ``Rewrite`` of the entry's name."""

_B = Exactness.BITWISE

STRUCTURAL: tuple[Rewrite, ...] = (
    rewrite_by(WrapIf, _B, "layers -> If whose branch computes them"),
    rewrite_by(WrapLoop, _B, "layers -> Loop that computes them"),
    rewrite_by(UnwrapControlFlow, _B, "If, Loop, Scan of few turns -> the nodes of its body"),
    rewrite_by(OutlineFunction, _B, "layers -> call of a local function"),
    rewrite_by(InlineFunction, _B, "call of a local function -> the nodes of its body"),
    rewrite_by(TransposePair, _B, "layers -> the same in another layout, between Transposes"),
    rewrite_by(ConvertOpset, _B, "model -> the same in a newer opset"),
    rewrite_by(NegativeAxes, _B, "axes and indices -> the same, counted from the other end"),
    rewrite_by(StoreConstant, _B, "initializer -> Constant node, and back"),
    rewrite_by(SplitInitializer, _B, "shared constant -> one for each reader"),
)
"""Mutators that keep the meaning."""

BUILTIN: tuple[Rewrite, ...] = (
    *neutral_operation_insertion.REWRITES,
    *inverse_movement_insertion.REWRITES,
    *lossless_cast_insertion.REWRITES,
    *elementwise_equivalents.REWRITES,
    *distributivity.REWRITES,
    *operator_decomposition.REWRITES,
    *matrix_products.REWRITES,
    *convolution.REWRITES,
    *pooling.REWRITES,
    *separable_convolution.REWRITES,
    *pixel_value_scaling.REWRITES,
    *movement_commutation.REWRITES,
    *reductions.REWRITES,
    *recurrent_layout.REWRITES,
    *recurrent_unrolling.REWRITES,
    *onnx_function_body.REWRITES,
    *constant_folding_and_unfolding.REWRITES,
    *older_opset.REWRITES,
    *STRUCTURAL,
)


def build_rewrites(wanted: Sequence[str] | None = None) -> dict[str, Rewrite]:
    """Every rewrite: the built-in ones in the table's order, then those of other packages by name.

    Args:
        wanted: the names of those to give; all if omitted.

    Raises:
        UsageError: two have the same name, an installed one cannot be loaded, or a wanted one is unknown.
    """
    table = {rewrite.name: rewrite for rewrite in BUILTIN}
    for entry in sorted(entry_points(group=GROUP), key=lambda e: (e.name, e.value)):
        if entry.name in table:
            raise UsageError(
                f"rewrite {entry.name!r} of entry point {entry.value} has the name of another rewrite; uninstall one"
            )
        try:
            rewrite = entry.load()
        except Exception as error:
            raise UsageError(f"rewrite {entry.name!r}: entry point {entry.value} cannot be loaded: {error}") from error
        if not isinstance(rewrite, Rewrite) or rewrite.name != entry.name:
            raise UsageError(f"rewrite {entry.name!r}: entry point {entry.value} is no Rewrite of that name")
        table[entry.name] = rewrite
    for name in wanted or ():
        if name not in table:
            raise UsageError(f"unknown rewrite {name!r}; known: {', '.join(table)}")
    return {name: r for name, r in table.items() if wanted is None or name in wanted}
