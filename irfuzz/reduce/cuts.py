"""Later beginnings: a session enters; what computes a value is replaced by an input with that value's elements."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx_ir as ir

from irfuzz.facts import TensorFact
from irfuzz.reduce.outputs import drop_unused_inputs
from irfuzz.reduce.session import Session, Value


def begin_later(session: Session) -> bool:
    """Drop as long a prefix of the node list as can be dropped."""
    found = False
    while True:
        nodes = session.program.nodes()
        values = session.inner_values()
        lengths = dict.fromkeys(len(nodes) * part // 8 for part in (8, 7, 6, 5, 4, 3, 2, 1))
        lengths = [min(length, len(nodes) - 1) for length in lengths if length]
        if not any(_drop_prefix(session, nodes[:length], nodes[length:], values) for length in dict.fromkeys(lengths)):
            return found
        found = True


def cut_single_values(session: Session) -> bool:
    """Replace single inner values by inputs, those with the longest history first."""
    values = session.inner_values()
    found = False
    for name in [n.outputs[0].name for n in reversed(session.program.nodes())]:
        value = session.program.value(name or "")
        if value is None or value.producer() is None or value.is_graph_output():
            continue
        if _cut_values(session, [value], values):
            found = True
    return found


def _drop_prefix(
    session: Session, dropped: list[ir.Node], kept: list[ir.Node], values: Mapping[str, Value]
) -> bool:
    outputs = [o for node in dropped for o in node.outputs]
    if not outputs or any(o.is_graph_output() for o in outputs):
        return False
    alive = set(kept)
    return _cut_values(session, [o for o in outputs if any(user in alive for user in o.consumers())], values)


def _cut_values(session: Session, border: list[ir.Value], values: Mapping[str, Value]) -> bool:
    names = [v.name or "" for v in border]
    if not names or any(name not in values or values[name] is None for name in names):
        return False
    candidate = session.program.clone()
    inputs: dict[str, Value] = dict(session.inputs)
    for name in names:
        value = candidate.value(name)
        assert value is not None
        data = values[name]
        fact = candidate.tensor(value)
        if fact is None or not isinstance(data, np.ndarray):
            return False
        new = candidate.add_input(TensorFact(fact.dtype, tuple(int(d) for d in data.shape)), "cut")
        candidate.replace_uses(value, new)
        inputs[new.name or ""] = data
    candidate.prune()
    drop_unused_inputs(candidate)
    return session.attempt(candidate, inputs)


