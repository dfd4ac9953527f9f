"""One dtype: drops casts, and lets what stood between them compute in the type it is given."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from irfuzz.ir.program import Program
from irfuzz.reduce.session import Change, NotPossible, Session, infer_anew
from irfuzz.spec import has_trait


def drop_casts(session: Session) -> bool:
    """Let the readers of casts read what is cast: all of them at once, else two that follow each other, else one.

    For example ``Relu(Cast(x))`` -> ``Relu(x)``, which computes in the type of ``x``; everything behind it is inferred
    anew.
    """
    casts = [site for site in session.sites() if _is_cast(session.program, site)]
    if len(casts) > 1 and session.edit(_dropping(casts)):
        return True
    return session.each(_dropping(sites) for sites in [*pairwise(casts), *((site,) for site in casts)])


def _is_cast(program: Program, site: str) -> bool:
    node = program.node(site)
    return node is not None and has_trait(node, "casts") and node.domain in ("", "ai.onnx")


def _dropping(sites: Sequence[str]) -> Change:
    def change(program: Program) -> None:
        if not all(_is_cast(program, site) for site in sites):
            raise NotPossible
        # Types are wrong until the last one is gone, so nothing is inferred before.
        nodes = [node for site in sites if (node := program.node(site)) is not None]
        for node in nodes:
            source, result = node.inputs[0], node.outputs[0]
            if source is None or (result.is_graph_output() and source.is_graph_input()):
                raise NotPossible
            for user, index in list(result.uses()):
                user.replace_input_with(index, source)
            if result.is_graph_output():
                program.replace_uses(result, source, users=(), outputs=True)
        infer_anew(program)

    return change
