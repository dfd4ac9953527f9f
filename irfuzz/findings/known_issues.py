"""Recognises findings that are known issues, by the rules of ``known_issues.toml``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir
from google.protobuf.message import DecodeError
from onnx import helper

from irfuzz.errors import InvalidProgram, SpecError, Unsupported, UsageError
from irfuzz.execute.run_types import Value
from irfuzz.execute.versions.environments import version_key
from irfuzz.findings.finding import Finding, KnownIssue
from irfuzz.findings.known_issue_conditions import KnownNode, NodeCondition, known_nodes, node_condition
from irfuzz.frontends.toml_file_reading import is_list, is_table, read_toml
from irfuzz.ir.program import Program
from irfuzz.ir.subgraphs import nodes_within
from irfuzz.oracle.verdict import Symptom
from irfuzz.spec import with_trait

SHIPPED = Path(__file__).with_name("known_issues.toml")
SCHEMA = 1

OTHER_BUILDS = {"onnxruntime-node": "onnxruntime", "onnxruntime-web": "onnxruntime"}
"""Components that are built from the source of another and count their releases as it does: its rules hold for them."""

SAME_OPTIMISER = {"webgpu": "onnxruntime"}
"""Components with kernels of their own behind the optimiser of another: what it refuses, in its words, they refuse."""


@dataclass(frozen=True, slots=True)
class KnownIssueRule:
    """One known issue and how its findings are recognised.

    Attributes:
        id: short; what findings are labelled with.
        title: one line.
        component: as targets spell it; other builds of it (``OTHER_BUILDS``) are meant, too.
        symptoms: any of which a finding has.
        operators: of the main graph, without those that only carry values: exactly these, or among others if
            ``message`` is given or ``among`` says so; empty for any if ``message`` tells enough.
        attributes: of which one at least is set on a node; empty for any.
        dtype: element type that an input, an output or an initializer has, as ONNX spells it; empty for any.
        message: regular expression that is found in what the component said; empty for any.
        seen: newest version that is known to show it.
        fixed: oldest version that does not; empty if none is known.
        since: oldest version that shows it; empty if that is not known.
        passes: of which the optimiser's is one, if a finding names any; empty for any.
        link: upstream report or change; empty if none is known.
        docs: where irfuzz's own documentation tells more.
        among: the operators may stand among others.
        one_of: operators of which one at least is there, beside ``operators``; empty for any.
        got: regular expression that is found in what the component gave, if a shape or type is wrong; empty for any.
        most: how many operators there are at most; 0 for any number.
        within: of which one at least is in a local function or a body; empty for any.
        always: why a rule needs nothing but operators: its operator is wrong whatever it is given.
        where: what some nodes are like, each of its operator (``NodeCondition``).
    """

    id: str
    title: str
    component: str
    symptoms: tuple[Symptom, ...]
    operators: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    dtype: str = ""
    message: str = ""
    seen: str = ""
    fixed: str = ""
    link: str = ""
    docs: str = ""
    since: str = ""
    passes: tuple[str, ...] = ()
    among: bool = False
    one_of: tuple[str, ...] = ()
    got: str = ""
    most: int = 0
    within: tuple[str, ...] = ()
    where: tuple[NodeCondition, ...] = ()
    always: str = ""

    def explains(self, finding: Finding) -> bool:
        """Whether a finding is this issue, as far as its rule says.

        Args:
            finding: with its case and runs. To ask many rules make one ``RuleSubject`` and ask ``fits``.
        """
        return self.fits(RuleSubject.of(finding))

    def fits(self, subject: RuleSubject) -> bool:
        """The same of a finding that was read before.

        All that the rule names must hold. Versions count only if that of the blamed target is known, and passes only if
        some are blamed. Without a message, an answer or ``among`` the operators must be the rule's alone.

        Args:
            subject: as ``RuleSubject.of`` gives it.
        """
        if self.component not in _known_as(subject, refusal=bool(self.message)):
            return False
        if subject.symptom not in self.symptoms:
            return False
        version = version_key(subject.version) if subject.version else None
        if version is not None and self.since and version < version_key(self.since):
            return False
        if version is not None and self.fixed and version >= version_key(self.fixed):
            return False
        if self.message and re.search(self.message, subject.message) is None:
            return False
        if self.got and re.search(self.got, subject.got) is None:
            return False
        if self.most and len(subject.operators) > self.most:
            return False
        if self.within and not subject.within & {*self.within}:
            return False
        if self.passes and subject.passes and not {*self.passes} & {*subject.passes}:
            return False
        others = self.message or self.got or self.among
        there = subject.operators | subject.carriers if others else subject.operators
        wanted = frozenset(self.operators)
        if self.one_of:
            chosen = there & frozenset(self.one_of)
            if not chosen:
                return False
            # Without others it is one of them, not several.
            there = there if others else there - {min(chosen)}
        if not (wanted <= there if others else wanted == there):
            return False
        dtype = onnx.TensorProto.DataType.Value(self.dtype.upper()) if self.dtype else 0
        given = not self.attributes or bool(subject.attributes & {*self.attributes})
        if not given or (dtype and dtype not in subject.dtypes):
            return False
        return not self.where or all(condition.holds(subject.nodes()) for condition in self.where)


@dataclass(frozen=True, slots=True)
class RuleSubject:
    """What rules ask of a finding; its model is read once for all of them.

    Attributes:
        component: that is blamed.
        version: of it; empty if unknown.
        symptom: what is wrong.
        message: what it said.
        passes: optimiser passes that make it, if they are known.
        operators: of the main graph; none if the model cannot be read.
        carriers: those of the main graph that ``operators`` leaves out.
        attributes: that are set on a node.
        dtypes: element types of inputs, outputs and initializers.
        got: shape and type that it gave, if they are wrong.
        within: operators of local functions and of bodies.
        nodes: gives its nodes, if a condition is asked.
    """

    component: str
    version: str
    symptom: str
    message: str
    passes: tuple[str, ...]
    operators: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    dtypes: frozenset[int] = frozenset()
    carriers: frozenset[str] = frozenset()
    got: str = ""
    within: frozenset[str] = frozenset()
    nodes: Callable[[], Sequence[KnownNode]] = field(default=tuple, compare=False)

    @classmethod
    def of(cls, finding: Finding) -> RuleSubject:
        """What rules ask of a finding.

        Args:
            finding: its model is decoded once; without one that can be read it has no operators, attributes and types.
        """
        verdict = finding.verdict
        run = next((r for r in finding.runs if r.name == verdict.target), None)
        found = cls(
            finding.component if run is None else run.component,
            "" if run is None else run.version,
            verdict.symptom,
            verdict.message,
            verdict.passes,
            got=verdict.got,
            nodes=cache(lambda: _nodes_of(finding)),
        )
        try:
            model = finding.case.proto
            graph = model.graph
        except DecodeError:
            return found
        operators = operators_of(graph)
        kinds = {v.type.tensor_type.elem_type for v in (*graph.input, *graph.output)}
        return replace(
            found,
            operators=frozenset(operators),
            carriers=frozenset(n.op_type for n in graph.node if n.domain in ("", "ai.onnx")) - operators,
            attributes=frozenset(a.name for node in graph.node for a in node.attribute),
            within=frozenset(_inside([f.node for f in model.functions], graph)),
            dtypes=frozenset(kinds | {t.data_type for t in graph.initializer}),
        )

    @classmethod
    def of_program(
        cls,
        program: Program,
        component: str,
        version: str,
        symptom: str,
        said: str,
        fed: Mapping[str, Value] | None = None,
    ) -> RuleSubject:
        """What a component makes of a whole program.

        Args:
            program: that it was given.
            component: as targets spell it.
            version: of it.
            symptom: what is wrong.
            said: its own words, or the shape and type that it gave.
            fed: values of inputs by name, if they are known; conditions may ask for elements.
        """
        nodes = list(program.graph)
        within = {n.op_type for node in nodes for n in nodes_within(node)}
        within |= {n.op_type for function in program.model.functions.values() for n in function.all_nodes()}
        values = [*program.graph.inputs, *program.graph.outputs, *program.graph.initializers.values()]
        subject = _of_calls(nodes, values, component, version, symptom, said)
        return replace(subject, within=frozenset(within), nodes=cache(lambda: known_nodes(program, fed=fed)))

    @classmethod
    def of_nodes(
        cls, program: Program, nodes: Sequence[ir.Node], component: str, version: str, symptom: str, said: str
    ) -> RuleSubject:
        """What a component makes of some nodes of a program alone; other arguments as for ``of_program``."""
        values = [v for node in nodes for v in (*node.inputs, *node.outputs) if v is not None]
        subject = _of_calls(nodes, values, component, version, symptom, said)
        return replace(subject, nodes=cache(lambda: known_nodes(program, nodes)))


def _known_as(subject: RuleSubject, *, refusal: bool) -> set[str | None]:
    """Components whose rules may explain a subject; whether the rule is one of the words of a refusal."""
    found = {subject.component, OTHER_BUILDS.get(subject.component)}
    if refusal and subject.symptom == Symptom.REJECTION:
        found.add(SAME_OPTIMISER.get(subject.component))
    return found


def _nodes_of(finding: Finding) -> list[KnownNode]:
    """The nodes of a finding's program, none if it cannot be read."""
    try:
        return known_nodes(finding.case.program, fed=finding.case.inputs)
    except (InvalidProgram, Unsupported):
        return []


def _of_calls(
    nodes: Sequence[ir.Node], values: Sequence[ir.Value], component: str, version: str, symptom: str, said: str
) -> RuleSubject:
    named = {f"{n.domain}.{n.op_type}" if n.domain not in ("", "ai.onnx") else n.op_type for n in nodes}
    operators = _telling(named)
    return RuleSubject(
        component, version, symptom, said, (), frozenset(operators),
        frozenset(name for n in nodes for name in n.attributes),
        frozenset(int(v.dtype) for v in values if v.dtype is not None),
        frozenset(n.op_type for n in nodes if n.domain in ("", "ai.onnx")) - operators, got=said,
    )  # fmt: skip


def operators_of(graph: onnx.GraphProto) -> set[str]:
    """Operators of a graph without those that carry values, and without Cast if there are others.

    Args:
        graph: its own nodes; those of bodies do not count.

    Returns:
        Names; those of another domain have it in front, with a dot.
    """
    names = {f"{n.domain}.{n.op_type}" if n.domain not in ("", "ai.onnx") else n.op_type for n in graph.node}
    return _telling(names)


def _telling(names: set[str]) -> set[str]:
    return names - with_trait("transparent") - with_trait("incidental") or names - with_trait("transparent")


def _inside(functions: Iterable[Iterable[onnx.NodeProto]], graph: onnx.GraphProto) -> set[str]:
    """Operators of functions and, at any depth, of bodies."""
    found: set[str] = set()
    waiting = [(nodes, True) for nodes in functions] + [(graph.node, False)]
    while waiting:
        nodes, inside = waiting.pop()
        for node in nodes:
            if inside:
                found.add(node.op_type)
            waiting += [
                (body.node, True) for a in node.attribute for body in (*a.graphs, *([a.g] if a.HasField("g") else []))
            ]
    return found


def known_issues(finding: Finding, rules: Sequence[KnownIssueRule] | None = None) -> list[KnownIssueRule]:
    """The known issues that explain a finding, most often one or none.

    Args:
        finding: with its case and runs.
        rules: to ask, in this order; those that irfuzz ships if ``None``.
    """
    subject = RuleSubject.of(finding)
    return [rule for rule in (shipped() if rules is None else rules) if rule.fits(subject)]


def labelled(finding: Finding, rules: Sequence[KnownIssueRule] | None = None) -> Finding:
    """The finding with the known issues that explain it.

    Args:
        finding: with its case and runs; what was known of it before is replaced.
        rules: as for ``known_issues``.

    Returns:
        A copy with ``known``, empty if no rule fits.
    """
    known = tuple(KnownIssue(k.id, k.title, k.link, k.docs) for k in known_issues(finding, rules))
    return replace(finding, known=known)


@cache
def shipped() -> tuple[KnownIssueRule, ...]:
    """The rules that come with irfuzz."""
    return read_rules(SHIPPED)


def read_rules(path: Path) -> tuple[KnownIssueRule, ...]:
    """The rules of a file.

    Raises:
        UsageError: it cannot be read, or a rule is wrong; the message names rule and field.
    """
    data = read_toml(path, str(path))
    if data.get("schema") != SCHEMA or set(data) - {"schema", "issue"}:
        raise UsageError(f"{path}: expected schema = {SCHEMA} and [[issue]] tables, got {', '.join(data)}")
    rules = tuple(_rule(path, number, entry) for number, entry in enumerate(data.get("issue", ()), 1))
    twice = {r.id for r in rules if sum(other.id == r.id for other in rules) > 1}
    if twice:
        raise UsageError(f"{path}: id {min(twice)!r} stands twice")
    return rules


_TEXTS = ("id", "title", "component", "dtype", "message", "seen", "fixed", "link", "docs", "since", "got", "always")
_LISTS = ("symptoms", "operators", "one_of", "attributes", "passes", "within", "where")
_FLAGS = ("among",)
_COUNTS = ("most",)


def _rule(path: Path, number: int, entry: Any) -> KnownIssueRule:
    where = f"{path}: issue {number}"
    if not is_table(entry):
        raise UsageError(f"{where}: expected a table, got {entry!r}")
    for name, value in entry.items():
        texts = name in _TEXTS and isinstance(value, str)
        lists = name in _LISTS and is_list(value) and all(isinstance(v, str) for v in value)
        flags = name in _FLAGS and isinstance(value, bool)
        counts = name in _COUNTS and isinstance(value, int) and not isinstance(value, bool) and value > 0
        if not (texts or lists or flags or counts):
            raise UsageError(f"{where}: {name}: expected {_kind(name)}, got {value!r}")
    for name in ("id", "title", "component", "symptoms"):
        if not entry.get(name):
            raise UsageError(f"{where}: {name}: is missing")
    any_operator = entry.get("among") and entry.get("always")
    if not any_operator and not any(entry.get(name) for name in ("operators", "one_of", "message", "got")):
        raise UsageError(
            f"{where}: operators: is missing, and so are one_of, message and got, one of which may stand for it"
        )
    if not any(entry.get(name) for name in ("message", "got", "where", "attributes", "dtype", "always")):
        raise UsageError(
            f"{where}: where: is missing: a rule names attributes, types, a message or nodes besides its operators, "
            "or says in `always` why it need not"
        )
    try:
        symptoms = tuple(Symptom(s) for s in entry["symptoms"])
        re.compile(entry.get("message", ""))
        re.compile(entry.get("got", ""))
        if entry.get("dtype"):
            helper.tensor_dtype_to_string(onnx.TensorProto.DataType.Value(entry["dtype"].upper()))
        conditions = tuple(node_condition(text, "where") for text in entry.get("where", ()))
    except (ValueError, re.error, SpecError) as error:
        raise UsageError(f"{where}: {error}") from None
    lists = {name: tuple(entry[name]) for name in _LISTS[1:] if name in entry}
    fields: dict[str, Any] = {**entry, **lists, "symptoms": symptoms, "where": conditions}
    return KnownIssueRule(**fields)


def _kind(name: str) -> str:
    kinds = {
        **dict.fromkeys(_TEXTS, "text"),
        **dict.fromkeys(_LISTS, "a list of texts"),
        **dict.fromkeys(_FLAGS, "true"),
        **dict.fromkeys(_COUNTS, "a number above 0"),
    }
    return kinds.get(name, f"one of {', '.join(kinds)}")
