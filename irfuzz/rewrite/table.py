"""Every built-in and installed rewrite by name."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points

from irfuzz.errors import UsageError
from irfuzz.mutate.convert_opset import ConvertOpset
from irfuzz.mutate.inline_function import InlineFunction
from irfuzz.mutate.negative_axes import NegativeAxes
from irfuzz.mutate.outline_function import OutlineFunction
from irfuzz.mutate.split_initializer import SplitInitializer
from irfuzz.mutate.store_constant import StoreConstant
from irfuzz.mutate.transpose_pair import TransposePair
from irfuzz.mutate.unwrap_control_flow import UnwrapControlFlow
from irfuzz.mutate.wrap_if import WrapIf
from irfuzz.mutate.wrap_loop import WrapLoop
from irfuzz.rewrite import (
    commute,
    constants,
    convolution,
    distribute,
    elements,
    formula,
    image,
    linear,
    movement,
    neutral,
    pooling,
    precision,
    recurrent,
    recurrent_formula,
    reductions,
    separable,
    spelling,
    versions,
)
from irfuzz.rewrite.forms import rewrite_by
from irfuzz.rewrite.types import Exactness, Rewrite

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
    *neutral.REWRITES,
    *movement.REWRITES,
    *precision.REWRITES,
    *elements.REWRITES,
    *distribute.REWRITES,
    *spelling.REWRITES,
    *linear.REWRITES,
    *convolution.REWRITES,
    *pooling.REWRITES,
    *separable.REWRITES,
    *image.REWRITES,
    *commute.REWRITES,
    *reductions.REWRITES,
    *recurrent.REWRITES,
    *recurrent_formula.REWRITES,
    *formula.REWRITES,
    *constants.REWRITES,
    *versions.REWRITES,
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
