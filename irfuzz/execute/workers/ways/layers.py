"""Runs a generated module with a framework's own layers in place of recurrences written out.

Runs in the worker's interpreter, and beside a ``repro.py``: imports only the standard library.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import TypeAlias  # of Python 3.10

ACTIVE = {"rnn": (("tanh",), ("relu",)), "gru": (("sigmoid", "tanh"),), "lstm": (("sigmoid", "tanh", "tanh"),)}
"""The recurrences that a module may write out, and the activations that layers have or are given."""

Layer: TypeAlias = "Callable[[str, dict[str, Any], str], Any]"
"""Of a key of ``ACTIVE``, the arguments of a call and its last activation: the outputs, or ``None`` if none has it."""


def through_layers(
    module: dict[str, Any], weights: dict[str, Any], inputs: dict[str, Any], layer: Layer
) -> dict[str, Any]:
    """Outputs by name.

    Raises:
        NotImplementedError: no layer computes any of it.
    """
    names, used = module["forward"].__globals__, [0]
    own = {kind: names[kind] for kind in ACTIVE if kind in names}
    for kind, compute in own.items():
        names[kind] = _as_layer(kind, compute, layer, used)
    try:
        outputs = module["forward"](weights, inputs)
    finally:
        names.update(own)
    if not used[0]:
        raise NotImplementedError("nothing in it is a layer of the framework's")
    return outputs


def _as_layer(kind: str, own: Callable[..., Any], layer: Layer, used: list[int]) -> Callable[..., Any]:
    asked = inspect.signature(own)

    def compute(*args: Any, **kwargs: Any) -> Any:
        call = asked.bind(*args, **kwargs)
        call.apply_defaults()
        given = call.arguments
        count = len(given["activations"]) // given["w"].shape[0]
        active = {tuple(n for n, *_ in given["activations"][d : d + count])
                  for d in range(0, len(given["activations"]), count)}  # fmt: skip
        unusual = any(given.get(n) is not None for n in ("lengths", "clip", "p")) or given.get("input_forget", 0)
        if unusual or len(active) != 1 or active.isdisjoint(ACTIVE[kind]) or 0 in given["x"].shape:
            return own(*args, **kwargs)
        found = layer(kind, given, active.pop()[-1])
        used[0] += found is not None
        return own(*args, **kwargs) if found is None else found

    return compute
