"""One dtype: a session enters; casts vanish, and what stood between them computes in the type it is given."""

from __future__ import annotations

from itertools import pairwise

from irfuzz.ir.program import Program
from irfuzz.reduce.session import NotPossible, Session, infer_anew


def drop_casts(session: Session) -> bool:
    """Let the readers of casts read what is cast: all of them at once, else two that follow each other, else one."""
    casts = [site for site in session.sites() if _is_cast(session.program, site)]
    if len(casts) > 1 and _drop(session, casts):
        return True
    found = False
    for pair in [*pairwise(casts), *((site,) for site in casts)]:
        if all(_is_cast(session.program, site) for site in pair):
            found |= _drop(session, pair)
    return found


def _is_cast(program: Program, site: str) -> bool:
    node = program.node(site)
    return node is not None and node.op_type in ("Cast", "CastLike") and node.domain in ("", "ai.onnx")


def _drop(session: Session, sites: tuple[str, ...] | list[str]) -> bool:
    def change(program: Program) -> None:
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

    return session.edit(change)
