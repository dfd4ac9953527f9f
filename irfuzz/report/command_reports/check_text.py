"""The verdict of a check as text: the first line has the answer, and each cause has a line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from irfuzz.execute.run_types import Target
from irfuzz.localize.check_result import CheckResult, Located
from irfuzz.localize.comparison.graph_output_distances import OutputDistance
from irfuzz.localize.disagreement_grouping import Divergence
from irfuzz.localize.nodes.causal_testing import T1, Causes
from irfuzz.localize.nodes.localization_map import MapLayer
from irfuzz.localize.nodes.node_search import FAILURES
from irfuzz.localize.nodes.single_node_replay import Replayed, ReplayOutcome
from irfuzz.oracle.cradle_distances import CLASS_BINS, MAD_BINS, Inconsistency, Metric, unique
from irfuzz.oracle.witnesses_and_blame import REFERENCE

SHOWN = 8
"""So many entries of a list are printed; JSON and the page have all."""


@dataclass(frozen=True, slots=True)
class CheckSetup:
    """What a check was asked to do, for its readers.

    Attributes:
        inputs: what was fed, in one line; empty if the user gave it.
        left_out: targets that are installed and were not asked, because no one named them.
    """

    inputs: str = ""
    left_out: tuple[str, ...] = ()


def as_text(report: CheckResult, model: str, setup: CheckSetup = CheckSetup()) -> str:
    """What a person wants to know first, as lines for a terminal: the verdict, a table of targets, outputs, causes and
    nodes.

    Lists are cut after ``SHOWN`` entries. Names come from models, so clean the text with ``printable``.

    Args:
        report: of the check.
        model: its name, before the verdict.
        setup: what the check was asked to do.
    """
    lines = [f"{model}: {headline(report)}"]
    lines += [f"  {d.component} {_fault(d)}: {d.what}" for d in report.divergences if d.excused]
    if setup.inputs:
        lines.append(f"inputs: {setup.inputs}")
    lines += ["", *_table(report)]
    if setup.left_out:
        names = ", ".join(groups_of(setup.left_out, ()))
        lines.append(
            f"not run, because they compile for seconds: {names} (name them in --targets, or runtimes for all)"
        )
    lines += _outputs(report)
    lines += _divergences(report)
    lines += [f"input {number} runs on no target: {why}" for number, why in list(report.nowhere.items())[:SHOWN]]
    lines += _patterns(report)
    for found in report.located:
        lines += ["", *_located_lines(found)]
    lines += ["", *(f"left out: {what}" for what in report.left_out)] if report.left_out else []
    return "\n".join(lines)


def headline(report: CheckResult) -> str:
    """The verdict in one line: the rule of ONNX that the model breaks, who disagrees on how many inputs, or how far all
    agree; behind it, after semicolons, known faults of the reference evaluator, what is undecided or was not compared,
    and why the check stopped.
    """
    inputs = f"{report.samples} inputs" if report.samples != 1 else "1 input"
    if report.samples != report.wanted:
        inputs = f"{report.samples} of {report.wanted} inputs"
    if report.broken:
        only = ", ".join(groups_of(report.accepting, report.targets)) or "no target"
        rule, *others = report.broken
        more = f" (and {len(others)} more)" if others else ""
        return f"breaks a rule of ONNX: {rule}{more}; only {only} accepts it"
    apart = report.apart
    if apart:
        ran = [t.name for t in report.targets if t.name in apart or _ran(report, t.name)]
        # Without a majority it is a convention who is said to be off.
        who = f"{len(apart)} of {len(ran)}" if 2 * len(apart) < len(ran) else f"{len(ran)}"
        told = f"{who} targets DISAGREE on {_count(report, apart)} of {inputs}"
    elif not report.agree:
        told = f"{len(report.targets)} targets DISAGREE on {inputs}, by their distance to the labels"
    else:
        told = _agreement(report, inputs)
    return "; ".join([told, *_reservations(report)])


def _count(report: CheckResult, apart: Sequence[str]) -> int:
    return len({n for d in report.divergences if d.counts and set(d.targets) & {*apart} for n in d.samples})


def _agreement(report: CheckResult, inputs: str) -> str:
    """Who agrees how far, for a check in which nobody is known to be wrong."""
    off = {name for d in report.divergences if d.excused or d.limit or d.witness for name in d.targets}
    never = _never_decided(report) - off
    off |= never
    names = [t for t in report.targets if t.name not in off and _ran(report, t.name)]
    far = max((f for n, f in report.farthest.items() if n not in off), default=0.0)
    measured = math.isfinite(far) and report.base not in never  # distances are those to the base
    how = "agree" if not measured else "agree exactly" if far == 0 else f"agree to {far:.2g}"
    components = sorted({t.component for t in names})
    alone = f" (all of them {components[0]})" if len(components) == 1 else ""
    if len(names) == 1 and never:
        return f"{1 + len(never)} targets differ on {inputs}"
    if len(names) == 1:
        return f"NOTHING COMPARED: only {names[0].name} runs it on {inputs}"
    count = f"{len(names)} of {len(names) + len(never)}" if never else f"{len(names)}"
    return f"{count} targets {how} on {inputs}{alone}"


def _never_decided(report: CheckResult) -> set[str]:
    """Targets that differ on every input, with none on which anybody knows who is right: they agree with nobody."""
    found: dict[str, set[int]] = {}
    for d in report.divergences:
        for name in d.targets if d.undecided else ():
            found.setdefault(name, set()).update(d.samples)
    return {name for name, samples in found.items() if len(samples) >= report.samples}


def _ran(report: CheckResult, name: str) -> bool:
    return name == report.base or name in report.farthest


def _reservations(report: CheckResult) -> list[str]:
    """What stands beside the verdict: known faults of the reference, what is not decided, empty, or was not run."""
    told = [f"{_who(d)} {_fault(d)}" for d in report.divergences if d.excused]
    told += [f"{_who(d)}, asked as a witness, {_how(d)}" for d in report.divergences if d.witness and not d.excused]
    limits: dict[str, list[str]] = {}
    for d in report.divergences:
        limits.setdefault(d.limit, []).extend(d.targets)
    told += [f"{', '.join(groups_of(names, ()))}: {limit}" for limit, names in limits.items() if limit]
    open_ones = [d for d in report.divergences if d.undecided and not (d.limit or d.witness or d.excused)]
    if open_ones:
        count = len({n for d in open_ones for n in d.samples})
        far = max(d.distance for d in open_ones)
        up_to = f" (up to {far:.2g})" if math.isfinite(far) else ""
        told.append(f"UNDECIDED on {count} of them{up_to}, where ONNX leaves open what is right")
    if report.empty:
        names = ", ".join(repr(n) for n in report.empty[:SHOWN])
        told.append(
            f"NOTHING COMPARED of {'output' if len(report.empty) == 1 else 'outputs'} {names}: NaN or empty everywhere"
        )
    if report.nowhere:
        told.append(f"{len(report.nowhere)} inputs run on no target")
    return [*told, *([report.stopped] if report.stopped else [])]


def _who(d: Divergence) -> str:
    return "the reference evaluator" if d.component == REFERENCE else ", ".join(d.targets)


def _fault(d: Divergence) -> str:
    """What a known fault makes of a divergence, and which it is."""
    issue = d.known[0]
    return f"{_how(d)} (known: {issue.title}; {issue.docs or issue.link or issue.id})"


def _how(d: Divergence) -> str:
    return "cannot run it" if d.symptom in FAILURES else "computes something else"


def groups_of(names: Sequence[str], targets: Sequence[Target]) -> list[str]:
    """Names with their component once: ``onnxruntime:disabled, :all``.

    Args:
        names: of targets.
        targets: of which a component stands alone if all of it is meant; none: every variant is named.
    """
    rows: dict[str, list[str]] = {}
    for name in names:
        component, _, variant = name.partition(":")
        rows.setdefault(component, []).append(variant)
    found: list[str] = []
    for component, variants in rows.items():
        every = [t for t in targets if t.name.partition(":")[0] == component]
        if len(variants) == 1 or len(variants) != len(every):
            first, *more = (f"{component}:{v}" if v else component for v in variants)
            found.append(", ".join([first, *(f":{name.partition(':')[2]}" for name in more)]))
        else:
            found.append(component)
    return found


def _table(report: CheckResult) -> list[str]:
    width = max(len(t.name) for t in report.targets) + 2
    lines = [f"{'target':<{width}}{'version':<14}largest difference to {report.base or 'the base'}"]
    for target in report.targets:
        far = report.farthest.get(target.name)
        told = ("base" if target.name == report.base else "-") if far is None else f"{far:.3g}"
        lines.append(f"{target.name:<{width}}{target.version or '-':<14}{told}")
    reasons: dict[tuple[str, str], list[str]] = {}
    for name, why in report.absent.items():
        component = name.partition(":")[0]
        lacked = why.removeprefix(f"{component} has no ")  # in the words of ``errors.NoOperator``
        key = (component, why) if lacked == why else ("", f"no {lacked}")
        reasons.setdefault(key, []).append(name)
    for (_, why), names in reasons.items():
        lines.append(f"{', '.join(groups_of(names, ()))}: cannot run it: {why}")
    return lines


def _outputs(report: CheckResult) -> list[str]:
    """For each output the base's values, and the target that is farthest from them."""
    worst: dict[str, OutputDistance] = {}
    for d in report.distances:
        if d.output not in worst or d.largest > worst[d.output].largest:
            worst[d.output] = d
    if not report.ranges:
        return []
    width = min(24, max(len(r.output) for r in report.ranges)) + 2
    head = f"{'output':<{width}}{'min':>10}{'max':>10}{'mean':>10}  {'largest':>9}{'mean':>9}{'median':>9}{'99%':>9}"
    lines = ["", f"{head}{'atol':>9}{'rtol':>9}  of the farthest target"]
    for r in report.ranges[:SHOWN]:
        d = worst.get(r.output)
        values = f"{r.output[: width - 2]:<{width}}{r.low:>10.3g}{r.high:>10.3g}{r.mean:>10.3g}  "
        figures = (d.largest, d.mean, d.median, d.percentile, d.atol, d.rtol) if d else ()
        lines.append(values + "".join(f"{f:>9.2g}" for f in figures) + (f"  {d.target}" if d else ""))
    return [*lines, *_more(len(report.ranges))]


def _divergences(report: CheckResult) -> list[str]:
    if report.broken:
        refusing = [name for d in report.divergences for name in d.targets if name not in report.accepting]
        rules = [f"  {rule}" for rule in report.broken[1:SHOWN]]
        return ["", f"refused by {', '.join(groups_of(list(dict.fromkeys(refusing)), report.targets))}", *rules]
    lines: list[str] = []
    told = [d for d in report.divergences if not d.excused]
    for title, rows in (
        ("disagreements:", [d for d in told if d.counts]),
        ("undecided, no target is known to be wrong:", [d for d in told if d.undecided and not d.witness]),
        ("asked as a witness, and alone against the others:", [d for d in told if d.witness]),
    ):
        if rows:
            lines += ["", title, *(f"  {_line(d, report)}" for d in rows[:SHOWN]), *_more(len(rows))]
    return lines


def _line(d: Divergence, report: CheckResult) -> str:
    who = ", ".join(groups_of(d.targets, report.targets))
    on = f"on {len(d.samples)} of {report.samples} inputs"
    if d.output:
        far = f"worst {d.distance:.2g} (bound {d.bound:.2g}), " if math.isfinite(d.distance) else ""
        told = f"{who}: output {d.output!r} differs from {d.base} {on}, {far}{d.what}"
    elif d.base:
        told = f"{who}: {d.what}, {on}, where {d.base} runs"
    else:
        told = f"{who}: {d.what}, {on}"
    return told + "".join(f" [known: {k.id}, {k.docs or k.link}]" for k in d.known)


def _more(count: int) -> list[str]:
    return [f"  ... and {count - SHOWN} more"] if count > SHOWN else []


def bins_of(pair: Inconsistency) -> tuple[str, ...]:
    """Names of the bins of a pair's histogram of distances, in the order of its ``pattern``; they depend on
    the metric.
    """
    return CLASS_BINS if pair.metric is Metric.CLASS else MAD_BINS


def _patterns(report: CheckResult) -> list[str]:
    if not report.inconsistencies:
        return []
    groups = unique(report.inconsistencies)
    bad = [i for i in report.inconsistencies if i.inconsistent]
    first = report.inconsistencies[0]
    counts = f"{len(bad)} of {len(report.inconsistencies)} pairs of targets are inconsistent"
    limit = f"distance of at least {first.threshold:g}"
    lines = ["", f"{first.metric} distance to the labels: {counts} ({limit}), {len(groups)} unique"]
    if bad:
        lines.append("  " + "".join(f"{b:>9}" for b in bins_of(first)) + "  pair")
        worst = sorted(bad, key=lambda i: -len(i.triggering))[:SHOWN]
        lines += ["  " + "".join(f"{n:>9}" for n in i.pattern) + "  " + " - ".join(i.targets) for i in worst]
        lines += _more(len(bad))
    return lines


def _located_lines(found: Located) -> list[str]:
    faulty = [r for r in found.replayed if r.faulty]
    lines = [f"where {found.target} and {found.base} part, on input {found.sample}:"]
    if faulty:
        lines += [f"  {'node':<44}{'operator':<24}{'over bound':>11}  alone, on the inputs it has on {found.base}"]
        lines += [f"  {_where(r)}{r.op[:22]:<24}{r.ratio:>11.3g}  {r.detail}" for r in faulty[:SHOWN]]
        lines += _more(len(faulty))
    else:
        lines.append("  no node differs alone by more than rounding")
    skipped = sum(r.outcome in (ReplayOutcome.SKIPPED, ReplayOutcome.UNSUPPORTED) for r in found.replayed)
    if skipped:
        lines.append(f"  ({skipped} nodes could not be run alone)")
    if found.unfolded is not None:
        lines += [f"  ({site} stays closed: {why})" for site, why in list(found.unfolded.left.items())[:SHOWN]]
    if found.causes is not None:
        lines += _cause_lines(found.causes)
    if found.map is None:
        return [*lines, f"  no map: {found.why_not}"]
    high = [layer for layer in found.map.ranked if layer.highlighted]
    lines += [f"  {'hidden state':<44}{'operator':<24}{'delta':>11}{'R':>13}  CRADLE's map, highest rates"]
    lines += [f"  {_where(x)}{x.op[:22]:<24}{x.delta:>11.3g}{x.rate:>13.4g}" for x in high[:SHOWN]]
    lines += _more(len(high))
    if not found.map.faithful:
        lines.append("  (reading hidden states changed the outputs: what is fused otherwise was not)")
    return lines


def _where(found: Replayed | MapLayer) -> str:
    """The name of a node, or its place inside a body, of which the end says more than the beginning."""
    text = found.place or found.name
    return f"{text if len(text) <= 42 else '...' + text[-39:]:<44}"


def _cause_lines(found: Causes) -> list[str]:
    if found.why_not:
        return [f"  no causes: {found.why_not}"]
    if not found.sources:
        return [f"  no causes: the largest rate is {found.largest:.4g}, and above {T1:g} one would be looked for"]
    lines = [f"  {'source':<44}{'operator':<24}{'R':>13}  with what the layer is consistent (AUDEE, algorithm 2)"]
    for source in found.sources[:SHOWN]:
        told = ", ".join(f"{p.name} {p.now} for {p.was}" + (f" ({p.why})" if p.why != "consistent" else "")
                         for p in source.parameters)  # fmt: skip
        none = "no other value of a parameter" if source.alone else "consistent alone: nodes beside it are part of it"
        lines.append(f"  {source.name[:42]:<44}{source.op[:22]:<24}{source.rate:>13.4g}  {told or none}")
    return [*lines, *_more(len(found.sources))]
