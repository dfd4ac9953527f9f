"""Applies a chain of rewrites to a program and verifies each form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram
from irfuzz.ir.verifier import verify
from irfuzz.mutate.mutation_engine import changed_nodes, snapshot, why_not_mutated
from irfuzz.mutate.mutator_protocol import Skipped
from irfuzz.rewrite.rewrite_rule import Rewrite, RewriteStep

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.spec import Specs

ATTEMPTS = 12
"""How many rewrites and sites are tried for one step of a chain before it is given up."""


def rewrite_once(
    program: Program, specs: Specs, rewrite: Rewrite, site: str, choices: Choices
) -> tuple[RewriteStep, Program] | Skipped:
    """Another form of a program, which stays as it is; or why there is none.

    Args:
        program: is copied; the copy is rewritten and verified.
        specs: of the operators.
        rewrite: what to apply.
        site: one of its sites in the program.
        choices: what it draws; what was drawn stands in the step, so that ``replay_chain`` can do it again.
    """
    if reason := why_not_mutated(program):
        return Skipped(reason)
    work = program.clone()
    operator = operator_at(work, site)
    before, mark = snapshot(work), choices.mark()
    try:
        answer = rewrite.apply(work, specs, site, choices)
        problems = [] if isinstance(answer, Skipped) else verify(work, specs, nodes=changed_nodes(work, before))
    except InvalidProgram as error:
        return Skipped(str(error))
    if isinstance(answer, Skipped):
        return answer
    if problems:
        return Skipped(str(problems[0]))
    work.asked = {}
    drawn = tuple(choices.record[mark:])
    return RewriteStep(rewrite.name, site, operator, answer, rewrite.exactness, drawn), work


def rewrite_chain(
    program: Program, specs: Specs, rewrites: Mapping[str, Rewrite], choices: Choices, steps: int
) -> list[tuple[RewriteStep, Program]]:
    """Up to so many steps, each with the form that it leads to; fewer if too many attempts fail.

    Args:
        program: the first form, which stays as it is and is not in the result.
        specs: of the operators.
        rewrites: those to draw from, by name.
        choices: draw rewrites and sites.
        steps: most of them; each begins with the form that the last one led to, and has ``ATTEMPTS`` attempts.
    """
    chain: list[tuple[RewriteStep, Program]] = []
    now = program
    names = list(rewrites)
    for _ in range(steps):
        for _attempt in range(ATTEMPTS):
            rewrite = rewrites[choices.pick(names)]
            sites = rewrite.sites(now, specs)
            if not sites:
                continue
            made = rewrite_once(now, specs, rewrite, choices.pick(sites), choices)
            if not isinstance(made, Skipped):
                chain.append(made)
                now = made[1]
                break
    return chain


def replay_chain(
    program: Program, specs: Specs, rewrites: Mapping[str, Rewrite], steps: Sequence[RewriteStep]
) -> list[tuple[RewriteStep, Program]] | None:
    """The same steps on a program, each with the form that it leads to; ``None`` if one does not fit.

    Args:
        program: perhaps another one than the steps were first applied to, such as a reduced one; it stays as it is.
        specs: of the operators.
        rewrites: all that the steps name.
        steps: of ``rewrite_chain``; nothing is drawn, as each has its choices.
    """
    chain: list[tuple[RewriteStep, Program]] = []
    now = program
    for step in steps:
        choices = Choices.from_record(step.choices)
        made = rewrite_once(now, specs, rewrites[step.rewrite], step.site, choices)
        if isinstance(made, Skipped):
            return None
        chain.append(made)
        now = made[1]
    return chain


def operator_at(program: Program, site: str) -> str:
    """What a site is about: the operator that computes or first reads the value.

    Args:
        program: in which the site is.
        site: the name of a node or value. A value that nothing computes or reads is an ``input``; a name that is not
            known is returned as it is.
    """
    value = program.value(site)
    if value is None:
        return site
    producer = value.producer()
    if producer is not None:
        return producer.op_type
    return next((use.node.op_type for use in value.uses()), "input")
