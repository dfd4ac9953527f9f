"""``import-domain``: a program imports another domain, whose operators are inserted from then on as ONNX's own are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import onnx.helper

from irfuzz.choices import Choices
from irfuzz.errors import UsageError
from irfuzz.ir.program import Program
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import MutatorUse, Profile, Relation, Skipped

if TYPE_CHECKING:
    from irfuzz.spec import Specs

_DEFAULT = frozenset({"", "ai.onnx"})


@dataclass(frozen=True, slots=True)
class ImportDomain:
    """Adds a domain to those whose operators a program is given.

    A program is given those of the domains that its nodes belong to. An import alone is not enough: many converters
    write imports that nothing uses, and few targets run what would then be inserted. So who asks for a domain gets
    this edit in front of all others; the engine makes it, and never draws it.
    """

    context: Context
    name: ClassVar[str] = "import-domain"
    version: ClassVar[int] = 1
    relation: ClassVar[Relation] = Relation.EQUIVALENT
    profile: ClassVar[Profile] = Profile(weight=0.0, covers=False, use=MutatorUse.PART)

    def sites(self, program: Program) -> list[str]:
        """The domains with operators that can be inserted, whatever the program imports, but for those whose operators
        it is given already.
        """
        drawn = dict(domains_drawn(program, self.context.specs))
        return [d for d in self.context.specs.domains if d and d not in drawn]

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:  # noqa: ARG002 - the protocol's
        """Import the domain that the site names, at the version that came with the program's opset if it has no import
        yet. Nothing is drawn, and no node changes.
        """
        if site not in self.context.specs.domains:
            return Skipped(f"no operators of domain {site!r} are known")
        program.use_domain(site, version_beside(self.context.specs, site, program.opset))
        return f"operators of {site} may be inserted"


def domains_drawn(program: Program, specs: Specs) -> tuple[tuple[str, int], ...]:
    """The other domains whose operators a program is given, each with its version, by name: those of its main graph's
    nodes, and those that ``import-domain`` added.
    """
    imports = program.model.opset_imports
    if len(imports) == 1:
        return ()
    found: tuple[tuple[str, int], ...] | None = program.asked.get("domains_drawn")
    if found is None:
        used = program.domains.union(node.domain for node in program.graph) - _DEFAULT
        found = tuple(sorted((d, imports[d]) for d in used if d in imports and d in specs.domains))
        program.asked["domains_drawn"] = found
    return found


def known_domains(specs: Specs, wanted: Iterable[str]) -> tuple[str, ...]:
    """Names of other domains that have operators, each once, sorted; the default domain is left out.

    Args:
        specs: operator specs.
        wanted: names in any order, repeats allowed.

    Raises:
        UsageError: one has none; the message lists those that have some.
    """
    for domain in wanted:
        if domain not in specs.domains:
            have = ", ".join(filter(None, specs.domains))
            raise UsageError(
                f"domains: {domain!r} has no known operators; expected some of {have}, or a folder with its operators "
                "in IRFUZZ_OPS"
            )
    return tuple(sorted(set(wanted) - {""}))


def version_beside(specs: Specs, domain: str, opset: int) -> int:
    """The version of a domain that came with an opset of ONNX's, or else the newest one. For ``ai.onnx.ml`` it is read
    from ``onnx.helper.VERSION_TABLE``; of other domains the newest known version is taken.
    """
    if domain == "ai.onnx.ml":
        return max(row[3] for row in onnx.helper.VERSION_TABLE if row[2] <= opset)
    return specs.newest(domain)
