"""The verdict of a check for people: every sentence of its first line, its tables, and where lists are cut."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from irfuzz.execute.run_types import Target
from irfuzz.localize.check_result import CheckResult, Located
from irfuzz.localize.comparison.graph_output_distances import OutputDistance, OutputRange
from irfuzz.localize.disagreement_grouping import Divergence, ExplainingIssue
from irfuzz.localize.nodes.causal_testing import CausalLayer, Causes
from irfuzz.localize.nodes.localization_map import LocalizationMap, MapLayer
from irfuzz.localize.nodes.responsible_parameters import ResponsibleParameter
from irfuzz.localize.nodes.single_node_replay import Replayed, ReplayOutcome
from irfuzz.oracle.cradle_distances import Inconsistency, Metric
from irfuzz.oracle.verdict import Symptom
from irfuzz.report.command_reports.check_text import SHOWN, CheckSetup, as_text, bins_of, groups_of, headline

pytestmark = pytest.mark.unit

TARGETS = tuple(Target(f"{c}:{v}", c, version="1") for c, v in (("ort", "a"), ("ort", "b"), ("torch", "e")))
ISSUE = ExplainingIssue("R1", "it rounds", "https://link", "docs/bugs.md, 1")


def divergence(*names: str, **more: Any) -> Divergence:
    fields: dict[str, Any] = {
        "component": names[0].partition(":")[0], "base": "ort:a", "symptom": Symptom.DIFFERENCE, "output": "y",
        "samples": (0,), "distance": 1.0, "bound": 0.25, "what": "it is off",
    }  # fmt: skip
    return Divergence(names, **{**fields, **more})


def report(*found: Divergence, **more: Any) -> CheckResult:
    fields: dict[str, Any] = {
        "targets": TARGETS, "absent": {}, "samples": 2, "wanted": 2, "disagreements": (), "inconsistencies": (),
        "located": (), "farthest": {"ort:b": 0.0, "torch:e": 0.0}, "base": "ort:a", "outputs": {},
    }  # fmt: skip
    return CheckResult(divergences=found, **{**fields, **more})


def pair(*distances: float, metric: Metric = Metric.CLASS, threshold: float = 8.0) -> Inconsistency:
    return Inconsistency(("ort:a", "torch:e"), metric, np.array(distances), threshold)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, "3 targets agree exactly on 2 inputs"),
        ({"samples": 1, "wanted": 1}, "3 targets agree exactly on 1 input"),
        ({"samples": 1}, "3 targets agree exactly on 1 of 2 inputs"),
        ({"farthest": {"ort:b": 0.5, "torch:e": 0.25}}, "3 targets agree to 0.5 on 2 inputs"),
        ({"farthest": {"ort:b": math.inf, "torch:e": 0.0}}, "3 targets agree on 2 inputs"),
        ({"farthest": {"ort:b": 0.0}}, "2 targets agree exactly on 2 inputs (all of them ort)"),
        ({"farthest": {}}, "NOTHING COMPARED: only ort:a runs it on 2 inputs"),
        ({"stopped": "it was late"}, "3 targets agree exactly on 2 inputs; it was late"),
        ({"nowhere": {1: "no"}}, "3 targets agree exactly on 2 inputs; 1 inputs run on no target"),
        ({"broken": ("rule",)}, "breaks a rule of ONNX: rule; only no target accepts it"),
        (
            {"broken": ("rule", "two", "three"), "accepting": ("ort:a", "ort:b")},
            "breaks a rule of ONNX: rule (and 2 more); only ort accepts it",
        ),
        (
            {"inconsistencies": (pair(8.0, 0.0),)},
            "3 targets DISAGREE on 2 inputs, by their distance to the labels",
        ),
    ],
)
def test_the_first_line_without_divergences(more: dict[str, Any], told: str) -> None:
    assert headline(report(**more)) == told


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ([divergence("torch:e")], "1 of 3 targets DISAGREE on 1 of 2 inputs"),
        ([divergence("torch:e", samples=(0, 1)), divergence("torch:e", samples=(1,))], "1 of 3 targets DISAGREE on 2"),
        ([divergence("ort:b", "torch:e")], "3 targets DISAGREE on 1 of 2 inputs"),
        ([divergence("ort:b"), divergence("torch:e", undecided=True, samples=(1,))], "1 of 3 targets DISAGREE on 1 of"),
        (
            [divergence("torch:e"), divergence("torch:e", undecided=True, samples=(1,))],
            "1 of 3 targets DISAGREE on 1 of",
        ),
        ([divergence("torch:e", limit="--seconds", undecided=True)], "2 targets agree exactly on 2 inputs (all of "),
        ([divergence("torch:e", witness=True)], "2 targets agree exactly on 2 inputs (all of them ort); torch:e, "),
    ],
)
def test_the_first_line_counts_who_is_apart(found: list[Divergence], told: str) -> None:
    assert headline(report(*found)).startswith(told)


def test_half_of_the_targets_are_no_majority() -> None:
    two = {"targets": TARGETS[1:], "base": "ort:b", "farthest": {"torch:e": 1.0}}
    assert headline(report(divergence("torch:e"), **two)) == "2 targets DISAGREE on 1 of 2 inputs"


def test_a_target_that_ran_nothing_is_not_counted() -> None:
    assert headline(report(divergence("torch:e"), farthest={"torch:e": 1.0})) == "2 targets DISAGREE on 1 of 2 inputs"


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (
            [divergence("reference", known=(ISSUE,))],
            "the reference evaluator computes something else (known: it rounds; docs/bugs.md, 1)",
        ),
        (
            [divergence("reference", known=(ExplainingIssue("R1", "it rounds"),), symptom=Symptom.CRASH)],
            "the reference evaluator cannot run it (known: it rounds; R1)",
        ),
        (
            [divergence("reference", known=(ExplainingIssue("R1", "it rounds", "https://link"),), witness=True)],
            "the reference evaluator computes something else (known: it rounds; https://link)",
        ),
        (
            [divergence("torch:e", witness=True, symptom=Symptom.REJECTION)],
            "torch:e, asked as a witness, cannot run it",
        ),
        (
            [
                divergence("ort:a", "ort:b", limit="stopped by --seconds", undecided=True),
                divergence("torch:e", limit="stopped by --seconds", undecided=True),
            ],
            "ort:a, :b, torch:e: stopped by --seconds",
        ),
        (
            [divergence("torch:e", undecided=True, distance=0.5), divergence("ort:b", undecided=True, samples=(0, 1))],
            "UNDECIDED on 2 of them (up to 1), where ONNX leaves open what is right",
        ),
        (
            [divergence("torch:e", undecided=True, distance=math.inf)],
            "UNDECIDED on 1 of them, where ONNX leaves open what is right",
        ),
        ([divergence("torch:e", undecided=True, witness=True)], "torch:e, asked as a witness, computes something else"),
    ],
)
def test_what_stands_behind_the_verdict(found: list[Divergence], told: str) -> None:
    assert headline(report(*found)).partition("; ")[2] == told


def nothing(*names: str) -> tuple[OutputRange, ...]:
    return tuple(OutputRange(name, 4, math.nan, math.nan, math.nan, 4, empty=True) for name in names)


def test_outputs_of_which_nothing_was_compared_are_named() -> None:
    assert headline(report(ranges=nothing("y"))).endswith("NOTHING COMPARED of output 'y': NaN or empty everywhere")
    told = headline(report(ranges=nothing(*map(str, range(SHOWN + 1)))))
    assert told.endswith("NOTHING COMPARED of outputs '0', '1', '2', '3', '4', '5', '6', '7': NaN or empty everywhere")


@pytest.mark.parametrize(
    ("names", "targets", "groups"),
    [
        (("ort:a", "ort:b"), TARGETS, ["ort"]),
        (("ort:a", "ort:b"), (), ["ort:a, :b"]),
        (("ort:a",), TARGETS, ["ort:a"]),
        (("torch:e",), TARGETS, ["torch:e"]),
        (("torch", "ort:b"), (), ["torch", "ort:b"]),
    ],
)
def test_names_have_their_component_once(
    names: tuple[str, ...], targets: tuple[Target, ...], groups: list[str]
) -> None:
    assert groups_of(names, targets) == groups


def test_the_table_of_targets() -> None:
    absent = {
        "jax:x": "jax has no kernel of Erf",
        "jax:y": "jax has no kernel of Erf",
        "tf:k": "it refuses",
        "tf:l": "no",
    }
    made = report(targets=(*TARGETS[:2], Target("tf:k", "tf")), farthest={"ort:b": 0.125}, absent=absent)
    assert as_text(made, "m", CheckSetup("ones", ("tvm:x", "tvm:y"))).splitlines() == [
        "m: 2 targets agree to 0.12 on 2 inputs (all of them ort)",
        "inputs: ones",
        "",
        "target version       largest difference to ort:a",
        "ort:a  1             base",
        "ort:b  1             0.125",
        "tf:k   -             -",
        "jax:x, :y: cannot run it: no kernel of Erf",
        "tf:k: cannot run it: it refuses",
        "tf:l: cannot run it: no",
        "not run, because they compile for seconds: tvm:x, :y (name them in --targets, or runtimes for all)",
    ]
    assert "largest difference to the base" in as_text(report(base=""), "m")


def distance(target: str, largest: float) -> OutputDistance:
    return OutputDistance(target, "y", 4, 2, largest, 0.25, 0.125, 0.5, sampled=False, atol=2.0, rtol=4.0)


def test_the_table_of_outputs_has_who_is_farthest() -> None:
    ranges = (
        OutputRange("y", 4, -1.0, 3.0, 1.5, 0, empty=False),
        OutputRange("z" * 30, 4, 0.0, 1.0, 0.5, 0, empty=False),
    )
    rows = [distance("ort:b", 1.0), distance("torch:e", 3.0), distance("torch:f", 3.0), distance("ort:c", 2.0)]
    told = as_text(report(ranges=ranges, distances=tuple(rows)), "m").splitlines()[7:]
    assert told == [
        (
            f"{'output':<26}       min       max      mean    largest     mean   median      99%     atol     rtol"
            "  of the farthest target"
        ),
        f"{'y':<26}        -1         3       1.5          3     0.25     0.12      0.5        2        4  torch:e",
        f"{'z' * 24}           0         1       0.5  ",
    ]
    short = as_text(report(ranges=ranges[:1]), "m").splitlines()
    assert short[7].startswith("output       min")


def test_lists_are_cut_and_say_so() -> None:
    ranges = tuple(OutputRange(f"y{n}", 4, 0.0, 1.0, 0.5, 0, empty=False) for n in range(SHOWN + 2))
    told = as_text(report(ranges=ranges, nowhere=dict.fromkeys(range(SHOWN + 2), "no")), "m")
    assert ("y7 " in told, "y8 " in told) == (True, False)
    assert "  ... and 2 more" in told
    assert "input 7 runs on no target: no" in told
    assert "input 8 runs" not in told
    assert "more" not in as_text(report(ranges=ranges[:SHOWN]), "m")


def test_a_broken_rule_names_who_refuses() -> None:
    found = [divergence("torch:e", symptom=Symptom.REJECTION), divergence("ort:b", "torch:e", "ort:a")]
    rules = tuple(f"rule {n}" for n in range(SHOWN + 2))
    told = as_text(report(*found, broken=rules, accepting=("ort:a",)), "m").splitlines()
    assert told[7:] == ["refused by torch:e, ort:b", *(f"  rule {n}" for n in range(1, SHOWN))]


def test_divergences_have_a_line_each_by_their_kind() -> None:
    found = [
        divergence("ort:a", "ort:b", known=(ISSUE, ExplainingIssue("R2", "t", "https://two"))),
        divergence("torch:e", distance=math.inf),
        divergence("torch:e", output="", what="it dies"),
        divergence("torch:e", output="", base="", what="it dies"),
        divergence("torch:e", undecided=True),
        divergence("torch:e", witness=True),
        divergence("torch:e", undecided=True, witness=True, what="it is both"),
        divergence("reference", known=(ISSUE,), what="as ever"),
    ]
    told = as_text(report(*found), "m").splitlines()
    assert told[1] == "  reference computes something else (known: it rounds; docs/bugs.md, 1): as ever"
    assert told[8:] == [
        "disagreements:",
        (
            "  ort: output 'y' differs from ort:a on 1 of 2 inputs, worst 1 (bound 0.25), it is off "
            "[known: R1, docs/bugs.md, 1] [known: R2, https://two]"
        ),
        "  torch:e: output 'y' differs from ort:a on 1 of 2 inputs, it is off",
        "  torch:e: it dies, on 1 of 2 inputs, where ort:a runs",
        "  torch:e: it dies, on 1 of 2 inputs",
        "",
        "undecided, no target is known to be wrong:",
        "  torch:e: output 'y' differs from ort:a on 1 of 2 inputs, worst 1 (bound 0.25), it is off",
        "",
        "asked as a witness, and alone against the others:",
        "  torch:e: output 'y' differs from ort:a on 1 of 2 inputs, worst 1 (bound 0.25), it is off",
        "  torch:e: output 'y' differs from ort:a on 1 of 2 inputs, worst 1 (bound 0.25), it is both",
    ]
    many = as_text(report(*[divergence("torch:e", what=f"number {n}") for n in range(SHOWN + 1)]), "m")
    assert ("number 7" in many, "number 8" in many, many.endswith("  ... and 1 more")) == (True, False, True)


def test_the_patterns_of_pairs() -> None:
    pairs = (pair(16.0, 1.0, 0.0), pair(9.0, 8.0, 3.0), pair(0.0, 0.0, 0.0))
    assert as_text(report(inconsistencies=pairs), "m").splitlines()[6:] == [
        "",
        "class distance to the labels: 2 of 3 pairs of targets are inconsistent (distance of at least 8), 2 unique",
        "         16     15-8      7-4      3-2        1        0  pair",
        "          0        2        0        1        0        0  ort:a - torch:e",
        "          1        0        0        0        1        1  ort:a - torch:e",
    ]
    assert as_text(report(inconsistencies=pairs[2:]), "m").splitlines()[7].endswith("at least 8), 0 unique")
    assert bins_of(pair(0.5, metric=Metric.MAD))[0] == "1-0.8"
    assert "  ... and 1 more" in as_text(report(inconsistencies=(pairs[0],) * (SHOWN + 1)), "m")


def located(**more: Any) -> Located:
    fields: dict[str, Any] = {"map": None, "replayed": (), "why_not": "no states"}
    return Located("ort:a", "torch:e", 1, **{**fields, **more})


def lines_of(one: Located) -> list[str]:
    return as_text(report(located=(one,)), "m").splitlines()[7:]


def node(outcome: ReplayOutcome, **more: Any) -> Replayed:
    return Replayed(0, 1, "n", "Conv", outcome, **more)


def test_where_no_node_differs_alone() -> None:
    replayed = [node(o) for o in (ReplayOutcome.AGREES, ReplayOutcome.OPEN)]
    assert lines_of(located(replayed=tuple(replayed))) == [
        "where torch:e and ort:a part, on input 1:",
        "  no node differs alone by more than rounding",
        "  no map: no states",
    ]
    skipped = tuple(node(o) for o in (ReplayOutcome.SKIPPED, ReplayOutcome.UNSUPPORTED))
    assert lines_of(located(replayed=skipped))[2] == "  (2 nodes could not be run alone)"


def test_nodes_that_differ_alone_stand_in_a_table() -> None:
    places = ["p" * 42, "p" * 43 + "q", ""]
    rows = tuple(node(ReplayOutcome.DIFFERS, ratio=2.5, detail="at 0", place=place) for place in places)
    assert lines_of(located(replayed=rows))[1:-1] == [
        f"  {'node':<44}{'operator':<24} over bound  alone, on the inputs it has on ort:a",
        f"  {'p' * 42}  {'Conv':<24}        2.5  at 0",
        f"  ...{'p' * 38}q  {'Conv':<24}        2.5  at 0",
        f"  {'n':<44}{'Conv':<24}        2.5  at 0",
    ]
    assert "  ... and 1 more" in lines_of(located(replayed=rows[:1] * (SHOWN + 1)))
    assert "  ... and 1 more" not in lines_of(located(replayed=rows[:1] * SHOWN))


def layer(name: str, rate: float, *, highlighted: bool = True) -> MapLayer:
    return MapLayer(name, "Relu", (), 0.5, 0.0, rate, highlighted)


def test_the_map_shows_highlighted_layers_by_their_rates() -> None:
    layers = (layer("a", 1.0), layer("b", 3.0), layer("c", 9.0, highlighted=False))
    head = f"  {'hidden state':<44}{'operator':<24}      delta            R  CRADLE's map, highest rates"
    rows = [f"  {n:<44}{'Relu':<24}        0.5            {r}" for n, r in (("b", 3), ("a", 1))]
    assert lines_of(located(map=LocalizationMap(layers, 1.0, faithful=True)))[2:] == [head, *rows]
    changed = "  (reading hidden states changed the outputs: what is fused otherwise was not)"
    assert lines_of(located(map=LocalizationMap(layers, 1.0, faithful=False)))[2:] == [head, *rows, changed]


def caused(*sources: CausalLayer, why_not: str = "") -> list[str]:
    return lines_of(located(causes=Causes(sources, 12.5, amplified=False, why_not=why_not)))[2:-1]


def test_causes() -> None:
    assert caused(why_not="no time") == ["  no causes: no time"]
    assert caused() == ["  no causes: the largest rate is 12.5, and above 1000 one would be looked for"]
    named = ResponsibleParameter("axis", "0", "1", 0.0, "consistent")
    other = ResponsibleParameter("mode", "a", "b", 0.0, "close")
    head = f"  {'source':<44}{'operator':<24}            R  with what the layer is consistent (AUDEE, algorithm 2)"
    first = f"  {'s' * 42}  {'Conv':<24}         2000  "
    assert caused(
        CausalLayer("s" * 50, "Conv", 2000.0, alone=True, parameters=(named, other)),
        CausalLayer("s" * 50, "Conv", 2000.0, alone=True, parameters=()),
        CausalLayer("s" * 50, "Conv", 2000.0, alone=False, parameters=()),
    ) == [
        head,
        f"{first}axis 1 for 0, mode b for a (close)",
        f"{first}no other value of a parameter",
        f"{first}consistent alone: nodes beside it are part of it",
    ]
    many = CausalLayer("s", "Conv", 2000.0, alone=True, parameters=())
    assert caused(*[many] * (SHOWN + 1))[-1] == "  ... and 1 more"
    assert len(caused(*[many] * SHOWN)) == SHOWN + 1


def test_what_was_left_out_comes_last() -> None:
    assert as_text(report(left_out=("a", "b")), "m").splitlines()[6:] == ["", "left out: a", "left out: b"]
