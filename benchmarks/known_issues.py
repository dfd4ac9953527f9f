"""Runs the models of ``known_issues.toml`` on the versions that have the issue, and says whether its rule knows it.

For each rule of ``irfuzz/findings/known_issues.toml`` that has a case here (or a folder in docs/bugs) the model runs on
the blamed component and on witnesses, and is judged as in a campaign. A rule holds if what is blamed on its component
is labelled with it. Of older versions environments are needed: ``--build`` makes those that are missing.

Run ``python benchmarks/known_issues.py [--build] [--only NAME ...] [--json FILE]``; exit code 1 if a rule that could be
tried does not hold. ``tests/findings/test_known_issues.py`` tries those of the versions that are installed.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnx.printer
from onnx import helper

from irfuzz.errors import UsageError
from irfuzz.execute import target_table
from irfuzz.execute.run_types import Exit, Target, TargetRole
from irfuzz.execute.runner import Runner
from irfuzz.execute.versions import releases
from irfuzz.execute.versions.environments import version_key
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding
from irfuzz.findings.known_issues import KnownIssueRule, known_issues, shipped
from irfuzz.isolate import Limits
from irfuzz.oracle import judge
from irfuzz.store.npz_tensors import unpack

CASES = Path(__file__).with_suffix(".toml")
BUGS = Path(__file__).resolve().parents[1] / "docs" / "bugs"
WITNESSES = ("reference", "onnxruntime:disabled", "torch:eager")


@dataclass(frozen=True)
class KnownCase:
    """What stands in the file for one rule.

    Attributes:
        issue: id of the rule.
        opset: of ``graph``.
        graph: text of the model; empty if it lies in docs/bugs.
        inputs: what is fed to it.
        said: what the component says of it; empty if it answers.
        swap: replacements in its text that make the counter case, in pairs.
        counter: text of the counter case.
        counter_inputs: what is fed to that.
        unseen: why no installed version shows it to these witnesses.
    """

    issue: str
    opset: int = 17
    graph: str = ""
    inputs: Mapping[str, Any] | None = None
    said: str = ""
    swap: tuple[str, ...] = ()
    counter: str = ""
    counter_inputs: Mapping[str, Any] | None = None
    unseen: str = ""

    def witness(self) -> FailingCase:
        """The model that shows the issue, with its inputs."""
        if not self.graph:
            folder = BUGS / self.issue
            return FailingCase((folder / "model.onnx").read_bytes(), unpack((folder / "inputs.npz").read_bytes()))
        return _case(self._text(self.graph), self.inputs or {})

    def other(self) -> FailingCase | None:
        """A model with the same operators that is another issue; ``None`` if the rule needs no more than operators."""
        text = self._text(self.counter) if self.counter else onnx.printer.to_text(self.witness().proto)
        for old, new in zip(self.swap[::2], self.swap[1::2], strict=True):
            if old not in text:
                raise ValueError(f"{self.issue}: {old!r} does not stand in {text}")
            text = text.replace(old, new)
        if not self.swap and not self.counter and self.counter_inputs is None:
            return None
        return _case(text, self.counter_inputs or {})

    def _text(self, graph: str) -> str:
        return f'<ir_version: 10, opset_import: ["" : {self.opset}]> {graph}'


def _case(text: str, values: Mapping[str, Any]) -> FailingCase:
    model = onnx.parser.parse_model(text)
    kinds = {v.name: v.type.tensor_type for v in model.graph.input}
    fed = {
        name: np.array(v, helper.tensor_dtype_to_np_dtype(kinds[name].elem_type)).reshape(
            [d.dim_value for d in kinds[name].shape.dim]
        )
        for name, v in values.items()
    }
    return FailingCase(model.SerializeToString(), fed)


@functools.cache
def known_cases() -> Mapping[str, KnownCase]:
    """All of them by rule."""
    entries: list[dict[str, Any]] = tomllib.loads(CASES.read_text())["case"]
    for entry in entries:
        entry["swap"] = tuple(entry.get("swap", ()))
    cases = [KnownCase(**entry) for entry in entries]
    return {case.issue: case for case in cases}


@dataclass(frozen=True)
class Tried:
    """What became of one rule.

    Attributes:
        issue: its id.
        version: of the component that was asked.
        holds: what was found is labelled with it; ``None`` if that could not be tried.
        told: what was seen instead, or why it could not be tried.
    """

    issue: str
    version: str
    holds: bool | None
    told: str = ""


def targets_for(rule: KnownIssueRule, *, build: bool = False) -> list[Target]:
    """The variants of the rule's component in a version that has the issue.

    Raises:
        UsageError: there is none here.
    """
    try:
        own = list(target_table.resolve([rule.component]))
    except UsageError:
        own = []
    if own and not (rule.fixed and version_key(own[0].version) >= version_key(rule.fixed)):
        return own
    distribution = next(a.distributions[0] for a in target_table.BUILT_IN if a.component == rule.component)
    if build:
        releases.ensure(distribution, rule.seen, lambda text: print(text, file=sys.stderr))
    return list(target_table.resolve([f"{rule.component}@{rule.seen}"]))


def tried(rule: KnownIssueRule, case: KnownCase, targets: Sequence[Target], runner: Runner) -> Tried:
    """Run a case and see whether what is blamed on the component is labelled with the rule."""
    failing = case.witness()
    program, inputs = failing.program, failing.inputs
    results = runner.run_fresh(program, inputs)
    ran = [r.target for r in results if r.exit is Exit.OK]
    verdicts = judge(
        program, inputs, results, shadow=runner.shadow,
        rerun=lambda other, moved=None: runner.run(moved or program, other, ran),
    )  # fmt: skip
    mine = {t.name for t in targets}
    seen = [v for v in verdicts if v.target in mine]
    for verdict in seen:
        finding = Finding(verdict, failing, failing, results).signed()
        if rule.id in {k.id for k in known_issues(finding)}:
            return Tried(rule.id, targets[0].version, holds=True, told=f"suspect: {verdict.doubt}" * verdict.suspect)
    told = "; ".join(f"{v.symptom} of {v.target}: {v.message or v.got}"[:200] for v in seen)
    ends = ", ".join(f"{r.target.name} {r.exit} {r.error}"[:120] for r in results if r.exit is not Exit.OK)
    return Tried(rule.id, targets[0].version, holds=False, told=told or f"nothing is blamed on it ({ends})")


def try_all(
    issues: Sequence[str], *, build: bool = False, choose: Callable[[KnownIssueRule], list[Target]] | None = None
) -> Iterator[Tried]:
    """Try rules, those of one version one after the other.

    Args:
        issues: ids of rules that have a case.
        build: install versions that are missing.
        choose: the targets of a rule's component; ``targets_for`` if omitted.
    """
    groups: dict[tuple[str, ...], list[KnownIssueRule]] = {}
    chosen: dict[tuple[str, ...], list[Target]] = {}
    for rule in shipped():
        if rule.id not in issues:
            continue
        try:
            targets = choose(rule) if choose is not None else targets_for(rule, build=build)
        except UsageError as error:
            yield Tried(rule.id, rule.seen, holds=None, told=str(error))
            continue
        key = tuple(t.name for t in targets)
        chosen[key] = targets
        groups.setdefault(key, []).append(rule)
    for key, rules in groups.items():
        mine = chosen[key]
        own = {(t.component, t.environment) for t in mine}
        beside = {w for w in WITNESSES if target_table.resolve([w])[0].component not in {c for c, _ in own}}
        before = {t.before for t in mine if t.before}
        witnesses = [t for t in target_table.resolve(sorted(beside | before)) if t.role is TargetRole.RUNTIME]
        with Runner([*mine, *witnesses], Limits(seconds=60), required=False) as runner:
            there = [t for t in runner.targets if (t.component, t.environment) in own]
            for rule in rules:
                case = known_cases()[rule.id]
                if case.unseen or not there:
                    yield Tried(rule.id, mine[0].version, holds=None, told=case.unseen or "it does not start")
                else:
                    yield tried(rule, case, there, runner)


def main() -> int:
    """Try them and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", action="store_true", help="install versions that are missing")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="rules whose id has this in it")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what came out")
    args = parser.parse_args()
    issues = [i for i in known_cases() if not args.only or any(name in i for name in args.only)]
    found: list[Tried] = []
    for one in try_all(issues, build=args.build):
        found.append(one)
        word = {True: "holds", False: "does not hold", None: "not tried"}[one.holds]
        print(f"{one.issue:<60} {one.version:<10} {word}{f': {one.told}' if one.told else ''}", flush=True)
    count = {h: sum(one.holds is h for one in found) for h in (True, False, None)}
    print(f"{count[True]} hold, {count[False]} do not, {count[None]} could not be tried")
    if args.json is not None:
        args.json.write_text(json.dumps([asdict(one) for one in found], indent=1))
    return 1 if count[False] else 0


if __name__ == "__main__":
    sys.exit(main())
