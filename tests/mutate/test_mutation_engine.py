"""The engine: replay, limits, what is thrown away, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint
from typing import ClassVar

import pytest
from onnx import parser

from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.ir.program import Program
from irfuzz.ir.verifier import verify
from irfuzz.mutate import mutation_engine as engine_module
from irfuzz.mutate import mutator_table as table_module
from irfuzz.mutate.feature_counts import FeatureCounts
from irfuzz.mutate.mutation_engine import STEADY, TOO_LARGE, Engine, replay, why_not_mutated
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Applied, Relation, Skipped, profile_of
from irfuzz.mutate.mutator_table import BUILTIN
from irfuzz.mutate.traced_mutant_generation import mutate_many
from irfuzz.shipped_folders import seeds_dir
from irfuzz.spec import Specs, load_specs


def test_a_mutant_replays_from_its_edits(specs: Specs, seeds: dict[str, Program]) -> None:
    engine = Engine(specs, seen=FeatureCounts())
    for seed, program in enumerate(seeds.values()):
        before = program.to_bytes()
        mutant = engine.mutate(program, Choices.from_seed(seed), edits=6)
        assert mutant is not None
        assert len(mutant.edits) == 6
        assert program.to_bytes() == before
        assert replay(program, mutant.edits, specs).to_bytes() == mutant.to_bytes() != before


def test_what_was_seen_changes_draws_but_not_their_meaning(specs: Specs, seeds: dict[str, Program]) -> None:
    program = seeds["resnet"]
    seen = FeatureCounts()
    engine = Engine(specs, ["insert-layer"], seen=seen)
    first = engine.mutate(program, Choices.from_seed(5), edits=3)
    assert first is not None
    for _ in range(50):
        seen.add_program(first.program)
    second = engine.mutate(program, Choices.from_seed(5), edits=3)
    assert second is not None
    assert first.edits != second.edits
    assert replay(program, second.edits, specs).to_bytes() == second.to_bytes()


def test_a_replay_refuses_what_does_not_fit(specs: Specs, seeds: dict[str, Program]) -> None:
    program = seeds["lenet5"]
    mutant = Engine(specs, ["insert-layer"]).mutate(program, Choices.from_seed(1))
    assert mutant is not None
    edit = mutant.edits[-1]
    for wrong, message in (
        (replace(edit, mutator="no-such"), "unknown mutator 'no-such'"),
        (replace(edit, version=99), "made by version 99"),
        (replace(edit, choices=edit.choices[:-1]), "one more"),
        (replace(edit, choices=(*edit.choices, 0)), "expected to use"),
        (replace(edit, site="no-such-value"), "no-such-value"),
    ):
        with pytest.raises(InvalidProgram, match=message):
            replay(program, [wrong], specs)


def test_no_mutant_is_larger_than_allowed(specs: Specs, seeds: dict[str, Program]) -> None:
    program = seeds["lenet5"]
    engine = Engine(specs, max_nodes=15)
    for seed in range(10):
        mutant = engine.mutate(program, Choices.from_seed(seed), edits=4)
        assert mutant is None or len(mutant.program.nodes()) <= 15
    assert any(reason == TOO_LARGE for _, reason in engine.counts.skipped)


GROWING = {name for name, made in BUILTIN.items() if profile_of(made).grows}


def test_growing_mutators_are_spared_where_nothing_may_grow(specs: Specs, seeds: dict[str, Program]) -> None:
    program = seeds["lenet5"]
    size = len(program.nodes())
    for name in sorted(GROWING - {"cover-next"}):  # it aims at nothing where nobody keeps count
        mutants = [Engine(specs, [name]).mutate(program, Choices.from_seed(seed)) for seed in range(4)]
        sizes = [len(m.program.nodes()) for m in mutants if m is not None]
        assert sum(nodes > size for nodes in sizes) >= len(sizes) - 1, name
    engine = Engine(specs, max_nodes=5)
    for seed in range(60):
        mutant = engine.mutate(program, Choices.from_seed(seed))
        assert mutant is None or not {edit.mutator for edit in mutant.edits} & GROWING
    assert engine.counts.applied
    assert not {name for name, _ in engine.counts.skipped} & GROWING
    roomy = [engine.mutate(program, Choices.from_seed(seed), max_nodes=size + 30) for seed in range(60)]
    assert any(m is not None and len(m.program.nodes()) > size for m in roomy)


def test_a_plan_does_not_try_again_what_has_grown_too_large(specs: Specs, seeds: dict[str, Program]) -> None:
    program = seeds["lenet5"]
    size = len(program.nodes())
    engine = Engine(specs, max_nodes=size)
    growing = engine.mutators["insert-layer"]
    tried: list[str] = []

    class Counting:
        name: ClassVar[str] = growing.name
        version: ClassVar[int] = growing.version
        relation: ClassVar[Relation] = growing.relation

        def sites(self, program: Program) -> Sequence[str]:
            return growing.sites(program)

        def apply(self, program: Program, site: str, choices: Choices) -> str | Applied | Skipped:
            tried.append(site)
            return growing.apply(program, site, choices)

    engine.mutators["insert-layer"] = Counting()
    for seed in range(10):
        assert engine.mutate(program, Choices.from_seed(seed), 10, ("insert-layer",) * 10) is None
    assert len(tried) <= 20
    assert engine.counts.skipped["insert-layer", TOO_LARGE] == 100
    shrinking = Engine(specs, max_nodes=size)
    plan = ("insert-layer", "remove-layer", "remove-layer", "insert-layer")
    mutants = [shrinking.mutate(program, Choices.from_seed(seed), 4, plan) for seed in range(120)]
    made = [[e.mutator for e in m.edits] for m in mutants if m is not None]
    assert any(names[0] == "remove-layer" and names[-1] == "insert-layer" for names in made)


class Breaks:
    """A mutator that makes an invalid program and does not say so."""

    name = "breaks"
    version = 1
    relation = Relation.CHANGED

    def sites(self, program: Program) -> Sequence[str]:
        return ["y"]

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        node = program.node("y")
        assert node is not None
        program.set_attr(node, "axis", 7)
        return "axis 7"


def test_an_invalid_result_is_thrown_away_and_counted(
    specs: Specs, parse: Callable[..., Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_module, "BUILTIN", {**table_module.BUILTIN, "breaks": lambda _: Breaks()})
    program = parse("g (float[2, 3] x) => (float[2, 3] y) { y = Softmax <axis = 1> (x) }")
    before = program.to_bytes()
    engine = Engine(specs, ["breaks"])
    assert engine.mutate(program, Choices.from_seed(0)) is None
    assert engine.counts.thrown.total() == engine_module.ATTEMPTS
    assert not engine.counts.applied
    assert program.to_bytes() == before
    both = Engine(specs, ["breaks", "duplicate-layer"])
    mutant = both.mutate(program, Choices.from_seed(3), edits=3)
    assert mutant is not None
    assert {e.mutator for e in mutant.edits} == {"duplicate-layer"}
    assert both.counts.thrown.total() > 0
    assert replay(program, mutant.edits, specs).to_bytes() == mutant.to_bytes()


class BreaksOpenly(Breaks):
    """The same, declared."""

    name = "breaks-openly"
    relation = Relation.INVALID

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        program.insert("Identity", [program.value("x")], name_hint="extra")
        return "an extra node"


def test_a_declared_invalid_result_stands(
    specs: Specs, parse: Callable[..., Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_module, "BUILTIN", {"breaks-openly": lambda _: BreaksOpenly(), **table_module.BUILTIN})
    program = parse("g (float[2, 3] x) => (float[2, 3] y) { y = Softmax <axis = 1> (x) }")
    mutant = Engine(specs, ["breaks-openly"]).mutate(program, Choices.from_seed(0))
    assert mutant is not None
    assert mutant.edits[0].relation is Relation.INVALID


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mutators": ["no-such"]}, "unknown mutator 'no-such'; known: .*insert-layer"),
        ({"mutators": []}, "no mutator"),
        ({"max_nodes": 0}, "max_nodes: expected at least 1, got 0"),
        ({"mutators": ["insert-layer"], "weights": {"insert-layer": 0.0}}, "weights"),
        ({"weights": {"insert-leyer": 1.0}}, "weights: unknown mutator 'insert-leyer'; known: .*insert-layer"),
    ],
)
def test_wrong_arguments(specs: Specs, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Engine(specs, **arguments)  # type: ignore[arg-type]


def other_package(context: Context) -> Breaks:
    """What an entry point names."""
    return Breaks()


def entries(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    entry = EntryPoint(name, value, table_module.GROUP)
    monkeypatch.setattr(EntryPoint, "load", lambda self: other_package)
    monkeypatch.setattr(table_module, "entry_points", lambda group: [entry] if group == table_module.GROUP else [])


@pytest.mark.plugin
def test_mutators_of_other_packages(specs: Specs, monkeypatch: pytest.MonkeyPatch) -> None:
    entries(monkeypatch, "breaks", "other:make")
    assert table_module.build_mutators(Context(specs))["breaks"].name == "breaks"
    entries(monkeypatch, "insert-layer", "other:make")
    with pytest.raises(UsageError, match="'insert-layer' of entry point other:make has the name of another"):
        table_module.build_mutators(Context(specs))
    entries(monkeypatch, "something", "other:make")
    with pytest.raises(UsageError, match="calls itself 'breaks'"):
        table_module.build_mutators(Context(specs))


@pytest.mark.parametrize(
    ("graph", "opset", "reason"),
    [
        ("g (float[3] x) => (float[3] y) { y = Relu(x) }", 8, "opset 8 is below 9"),
        ("g (float[3] x, int64[k] a) => (float y) { y = ReduceMax <keepdims = 0> (x, a) }", 18, None),
    ],
)
def test_programs_with_which_nothing_can_be_done(
    specs: Specs, parse: Callable[..., Program], graph: str, opset: int, reason: str | None
) -> None:
    engine = Engine(specs)
    mutant = engine.mutate(parse(graph, opset=opset), Choices.from_seed(0))
    assert engine.counts.thrown.total() == 0
    if reason is not None:
        assert mutant is None
        assert engine.counts.skipped["engine", reason] == 1


def test_strings_and_other_domains_are_no_obstacle(specs: Specs, parse: Callable[..., Program]) -> None:
    program = parse("g (string[3] x) => (string[3] y, int64[1] n) { y = Identity(x) n = Shape(y) }")
    engine = Engine(specs, ["insert-layer"])
    mutant = engine.mutate(program, Choices.from_seed(2))
    assert mutant is not None
    assert replay(program, mutant.edits, specs).to_bytes() == mutant.to_bytes()


def test_invalid_values_are_declared_and_last(specs: Specs, seeds: dict[str, Program]) -> None:
    engine = Engine(specs, ["invalid-value"])
    named: set[str] = set()
    for seed in range(12):
        program = seeds["lenet5"]
        mutant = engine.mutate(program, Choices.from_seed(seed), edits=4)
        assert mutant is not None
        assert [edit.relation for edit in mutant.edits] == [Relation.INVALID]
        assert "has the invalid" in mutant.edits[0].detail
        named.add(mutant.edits[0].detail.split(" has the invalid ")[1].split(" = ")[0])
        assert verify(mutant.program, specs) != []
        assert replay(program, mutant.edits, specs).to_bytes() == mutant.to_bytes()
    assert len(named) > 3


def test_invalid_values_come_only_where_they_are_named(seeds: dict[str, Program]) -> None:
    named = [("lenet5.onnx", seeds["lenet5"])]
    assert not any(m.declared_invalid for m in mutate_many(named, seed=3, n=40))
    mixed = list(mutate_many(named, seed=3, n=40, mutators=["invalid-value", "replace-activation"]))
    invalid = [m for m in mixed if m.declared_invalid]
    assert 5 < len(invalid) < 40
    assert all(e.relation is not Relation.INVALID for m in mixed for e in m.edits[:-1])
    assert all(m.trace["edits"][-1]["relation"] == "invalid" for m in invalid)
    weighted = mutate_many(named, seed=3, n=40, weights={"invalid-value": 5.0})
    assert any(m.declared_invalid for m in weighted)


def test_invalid_values_lie_just_beyond_the_rules_of_this_call(specs: Specs, parse: Callable[..., Program]) -> None:
    """Where there are 8 axes, 7 and -8 are valid."""
    shape = ", ".join("1" for _ in range(8))
    program = parse(f"g (float[{shape}] x) => (float[{shape}] y) {{ y = Softmax <axis = 1> (x) }}")
    mutator = table_module.build_mutators(Context(specs))["invalid-value"]
    assert mutator.sites(program) == ["y"]
    seen: set[int] = set()
    for seed in range(12):
        made = program.clone()
        mutator.apply(made, "y", Choices.from_seed(seed))
        seen.add(made.attrs(made.node("y"))["axis"])
    assert seen == {8, -9}
    copied = parse("g (float[2] x) => (float[2] y) { y = Identity (x) }")
    assert mutator.sites(copied) == []
    plain = parse("g (float[2] x) => (float[2] y) { y = Softplus (x) }")
    assert mutator.apply(plain, "y", Choices.from_seed(0)) == Skipped("no value breaks a rule here")


def test_what_was_found_out_about_a_program_is_forgotten_when_it_changes() -> None:
    """Clones share where their mutators apply, until one is edited."""
    program = Program.from_bytes((seeds_dir() / "lenet5.onnx").read_bytes())
    fresh = Program.from_bytes(program.to_bytes())
    engine = Engine(load_specs())
    for number in range(60):
        engine.mutate(program, Choices.from_seed(number), edits=3)
    assert len(program.asked) > 20
    assert program.clone().asked is program.asked
    for name, mutator in engine.mutators.items():
        if name in STEADY:
            assert list(engine._sites(program, mutator)) == list(mutator.sites(fresh))
    node = program.nodes()[0]
    program.replace_uses(node.outputs[0], program.insert("Abs", [node.outputs[0]]).outputs[0])
    assert program.asked == {}
    assert "Abs_0" in engine._sites(program, engine.mutators["insert-layer"])
    assert program.clone().asked


@pytest.mark.parametrize(("times", "fine"), [(1 << 29, True), ((1 << 29) + 1, False), (1 << 62, False)])
def test_what_nobody_can_hold_is_not_mutated(times: int, fine: bool) -> None:
    text = f"g (float[1] x) => (float[n] y) <int64[1] s = {{{times}}}> {{ t = Expand (x, s) y = Relu (t) }}"
    program = Program.from_proto(parser.parse_model('<ir_version: 8, opset_import: ["" : 17]>\n' + text))
    told = f"Expand computes 't' with {times} elements; at most {1 << 29} are held"
    assert why_not_mutated(program) == ("" if fine else told)
