"""irfuzz inside of other fuzzers: deterministic, within the size, never raising; strategies that shrink."""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import onnx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.database import InMemoryExampleDatabase

from benchmarks.embedding import calls
from irfuzz.choices import Choices
from irfuzz.embed import aflpp
from irfuzz.embed.byte_choices import choices_from
from irfuzz.embed.corpus_export import export_corpus
from irfuzz.embed.hypothesis import models, nodes, tensors_for
from irfuzz.embed.invalid_models.node_removal import keep_only
from irfuzz.embed.invalid_models.random_model_parts import PartDrawer
from irfuzz.embed.model_trimming import Trimmer
from irfuzz.embed.mutator import ModelMutator, for_fuzzer
from irfuzz.embed.node_range_extraction import part
from irfuzz.errors import UsageError
from irfuzz.generate.one_node_programs import sprouts
from irfuzz.ir.program import Program

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[2]
SEEDS = [(ROOT / "seeds" / name).read_bytes() for name in ("film.onnx", "diabetes.onnx", "lenet5.onnx")]
SMALL = next(iter(sprouts().values())).to_bytes()


def test_equal_calls_give_equal_bytes_in_two_processes(tmp_path: Path) -> None:
    script = """
import hashlib, pathlib, sys
from irfuzz.embed.atheris import custom_crossover, custom_mutator
seeds = [pathlib.Path(p).read_bytes() for p in sys.argv[1:]]
made = [custom_mutator(s, 400_000, n) for s in seeds for n in range(8)]
made += [custom_crossover(seeds[0], seeds[1], 400_000, n) for n in range(4)] + [custom_mutator(b"junk", 99, 5)]
print(hashlib.sha256(b"|".join(made)).hexdigest())
"""
    names = [str(ROOT / "seeds" / n) for n in ("film.onnx", "diabetes.onnx")]
    words = [sys.executable, "-P", "-c", script, *names]
    made = [subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path).stdout for _ in range(2)]
    assert made[0] == made[1]


def test_mutants_of_models_are_valid_and_differ() -> None:
    mutator = ModelMutator()
    made = {mutator.mutate(seed, 1 << 20, n) for seed in SEEDS for n in range(20)}
    assert len(made) >= 50
    for data in made:
        onnx.checker.check_model(onnx.load_model_from_string(data), full_check=True)
    assert mutator.counts["mutated"] >= 55
    assert mutator.counts["bytes"] == 0


def test_loose_mutants_pass_the_checker_and_differ_in_operators_and_versions() -> None:
    mutator, pool = ModelMutator(loose=1.0), [SMALL, *SEEDS[:2]]
    passed, operators, versions = 0, set(), set()
    for n in range(600):
        data = mutator.mutate(pool[n % len(pool)], 1 << 20, n)
        model = onnx.load_model_from_string(data)
        try:
            onnx.checker.check_model(model)  # without inference, which some of these end by a signal
        except (onnx.checker.ValidationError, ValueError):
            continue
        passed += 1
        pool.append(data)
        operators |= {(node.domain, node.op_type) for node in model.graph.node}
        versions |= {entry.version for entry in model.opset_import if not entry.domain}
    assert mutator.counts["loose"] == 600
    assert passed >= 540
    assert passed < 600
    assert len(operators) >= 60
    assert len(versions) >= 10
    again = ModelMutator(loose=1.0)
    assert [again.mutate(SMALL, 2000, n) for n in range(20)] == [mutator.mutate(SMALL, 2000, n) for n in range(20)]


def test_large_models_are_mutated_as_quickly_as_they_are_read() -> None:
    """Work that grows with the square of the nodes would take minutes."""
    nodes = [onnx.helper.make_node("Relu", [f"v{n}"], [f"v{n + 1}"]) for n in range(5000)]
    ends = [[onnx.helper.make_tensor_value_info(name, 1, [2])] for name in ("v0", "v5000")]
    model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", *ends), ir_version=8)
    model.opset_import[0].version = 17
    graph = model.graph
    start = time.process_time()
    keep_only(graph, 2500, PartDrawer(Choices.from_seed(1)))
    assert time.process_time() - start < 2
    assert [node.input[0] for node in graph.node] == [value.name for value in graph.input] == ["v2500"]
    assert not graph.output  # it was not the last node's


def test_what_irfuzz_finds_invalid_is_still_changed_as_a_model() -> None:
    model = onnx.load_model_from_string(SMALL)
    model.graph.node[0].op_type = "NoSuchOperator"
    mutator = ModelMutator()
    made = mutator.mutate(model.SerializeToString(), 1 << 20, 1)
    assert onnx.load_model_from_string(made) != model
    assert mutator.counts == {"loose": 1}


def test_a_share_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="from 0 to 1, got 2"):
        ModelMutator(loose=2)
    for said in ("many", "-1"):
        monkeypatch.setenv("IRFUZZ_LOOSE", said)
        with pytest.raises(UsageError, match=f"IRFUZZ_LOOSE: expected a share from 0 to 1, got '{said}'"):
            for_fuzzer()
    monkeypatch.setenv("IRFUZZ_LOOSE", "0.25")
    assert for_fuzzer().loose == 0.25


def test_the_size_is_never_exceeded_and_nothing_raises() -> None:
    mutator = ModelMutator()
    rng = random.Random(7)
    for n in range(200):
        data = bytearray(rng.choice([*SEEDS[:2], SMALL]))
        if n % 3 == 0:  # damaged
            for _ in range(rng.randint(1, 20)):
                data[rng.randrange(len(data))] = rng.randrange(256)
        elif n % 7 == 0:
            data = bytearray(rng.randbytes(rng.randint(0, 200)))
        size = rng.choice([0, 1, 100, 2_000, 100_000])
        assert len(mutator.mutate(bytes(data), size, n)) <= size
        assert len(mutator.cross(bytes(data), SMALL, size, n)) <= size
    assert mutator.counts["bytes"] > 0


def test_a_crossing_has_a_piece_of_the_other() -> None:
    mutator = ModelMutator()
    made = onnx.load_model_from_string(mutator.cross(SMALL, SEEDS[0], 1 << 20, 3))
    assert len(made.graph.node) > 1
    onnx.checker.check_model(made, full_check=True)
    assert mutator.counts["spliced"] >= 1


def test_a_loose_crossing_has_calls_of_the_other() -> None:
    mutator, theirs = ModelMutator(loose=1.0), {n.op_type for n in onnx.load_model_from_string(SEEDS[2]).graph.node}
    made = [onnx.load_model_from_string(mutator.cross(SMALL, SEEDS[2], 1 << 20, n)) for n in range(40)]
    assert sum(bool(theirs & {n.op_type for n in model.graph.node}) for model in made) >= 30
    passed = 0
    for model in made:
        try:
            onnx.checker.check_model(model)
            passed += 1
        except (onnx.checker.ValidationError, ValueError):
            continue
    assert passed >= 34


def test_bytes_steer_the_draws_and_small_changes_are_small() -> None:
    def drawn(data: bytes) -> list[float]:
        choices = choices_from(data)
        kinds = (lambda: choices.integer(0, 9), lambda: choices.real(0, 1), lambda: choices.pick("abc") == "a")
        return [float(kinds[i % 3]()) for i in range(12)]

    one, other = bytes(range(40)), bytearray(range(40))
    assert drawn(one) == drawn(one)
    other[20] ^= 255
    same = [a == b for a, b in zip(drawn(one), drawn(bytes(other)), strict=True)]
    assert same.count(False) == 1
    assert drawn(b"")[0] == 0
    assert {choices_from(bytes([n, 0])).weighted("ab", [1, 3]) for n in range(256)} == {"a"}
    assert choices_from(b"\xff\xff").weighted("ab", [1, 3]) == "b"


def test_afl_functions() -> None:
    def run() -> list[str]:
        aflpp.init(11)
        made = [aflpp.fuzz(bytearray(SEEDS[0]), bytearray(SEEDS[1]), 1 << 20) for _ in range(12)]
        digests = [hashlib.sha256(bytes(m)).hexdigest() for m in made]
        assert aflpp.describe(12).startswith(b"irfuzz-")
        assert b"mutated=" in aflpp.introspection()
        aflpp.deinit()
        return digests

    assert run() == run()
    aflpp.init(1)
    assert aflpp.fuzz_count(bytearray(SMALL)) > 0
    assert aflpp.fuzz(bytearray(b""), None, 0) == bytearray()
    assert aflpp.post_process(bytearray(SMALL)) == bytearray(SMALL)
    assert all(len(aflpp.fuzz(bytearray(b"x"), None, 1)) == 1 for _ in range(50))  # AFL++ ends where nothing comes
    aflpp.deinit()


def test_trimming_keeps_what_is_asked_for() -> None:
    aflpp.init(1)
    data = SEEDS[0]
    steps = aflpp.init_trim(bytearray(data))
    assert steps > 0
    step, best = 0, data
    while step < steps:
        candidate = bytes(aflpp.trim())
        model = onnx.load_model_from_string(candidate)
        good = any(node.op_type == "Tanh" for node in model.graph.node) or any(
            node.op_type == "Relu" for node in model.graph.node
        )
        best = candidate if good else best
        step = aflpp.post_trim(good)
    assert len(onnx.load_model_from_string(best).graph.node) < len(onnx.load_model_from_string(data).graph.node)
    assert Trimmer(b"no model").steps == 0
    aflpp.deinit()


QUICK = settings(
    max_examples=15,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
    derandomize=True,
)


@QUICK
@given(models(seeds=[SEEDS[0]]), st.data())
def test_models_are_valid_and_have_inputs(model: onnx.ModelProto, data: st.DataObject) -> None:
    onnx.checker.check_model(model, full_check=True)
    inputs = data.draw(tensors_for(model))
    assert set(inputs) == {v.name for v in model.graph.input} - {t.name for t in model.graph.initializer}


@QUICK
@given(nodes("Gemm"))
def test_single_operators_are_valid_calls(model: onnx.ModelProto) -> None:
    assert [node.op_type for node in model.graph.node] == ["Gemm"]
    onnx.checker.check_model(model, full_check=True)


FAMILY = ("Softmax", "LogSoftmax", "Hardmax", "ArgMax", "ArgMin", "Gather", "GatherElements", "Flatten", "TopK")


def test_a_planted_fault_shrinks_to_one_node_and_replays() -> None:
    """A converter that takes the axis of some operators as another where it is left out."""
    asked = 0

    def wrong(model: onnx.ModelProto) -> bool:
        nonlocal asked
        asked += 1
        return any(
            node.op_type in FAMILY and not any(a.name == "axis" for a in node.attribute) for node in model.graph.node
        )

    @settings(
        max_examples=5_000,
        deadline=None,
        database=InMemoryExampleDatabase(),
        suppress_health_check=list(HealthCheck),
        phases=[Phase.reuse, Phase.generate, Phase.shrink],
    )
    @given(models())
    def test(model: onnx.ModelProto) -> None:
        nonlocal last
        last = model
        assert not wrong(model)

    last = onnx.ModelProto()
    with pytest.raises(AssertionError) as told:
        test()
    assert any(f"= {op} " in note for note in told.value.__notes__ for op in FAMILY)  # ONNX text
    first = last
    assert [node.op_type in FAMILY for node in first.graph.node] == [True]
    onnx.checker.check_model(first, full_check=True)
    asked = 0
    with pytest.raises(AssertionError):
        test()
    assert last == first
    assert asked < 10  # from the example database


def test_a_part_of_a_program_is_one_of_its_own() -> None:
    program = Program.from_bytes(SEEDS[0])
    count = len(program.graph)
    for first, end in [(0, 1), (count - 1, count), (1, 4)]:
        piece = part(program, first, end)
        assert piece is not None
        proto = piece.to_proto()
        onnx.checker.check_model(proto, full_check=True)
        wanted = [node.op_type for node in program.graph][first:end]
        assert [node.op_type for node in proto.graph.node] == wanted
        assert proto.graph.output


def test_the_end_ends_what_was_being_trimmed() -> None:
    before = threading.active_count()
    aflpp.init(1)
    assert aflpp.init_trim(bytearray(SEEDS[0])) > 0
    assert threading.active_count() == before + 1
    aflpp.deinit()
    assert threading.active_count() == before


def test_a_corpus_is_small_valid_and_the_same_each_time(tmp_path: Path) -> None:
    written = export_corpus(ROOT / "seeds", tmp_path / "one", max_bytes=5000)
    assert len(written) >= 150
    again = export_corpus(ROOT / "seeds", tmp_path / "two", max_bytes=5000)
    assert [p.name for p in written] == [p.name for p in again]
    for path, other in zip(written, again, strict=True):
        data = path.read_bytes()
        assert len(data) <= 5000
        assert data == other.read_bytes()
        onnx.checker.check_model(onnx.load_model_from_string(data), full_check=True)
    with pytest.raises(UsageError, match="empty or a new folder"):
        export_corpus(ROOT / "seeds", tmp_path / "one")
    with pytest.raises(UsageError, match="nowhere: expected a folder of seeds"):
        export_corpus(tmp_path / "nowhere", tmp_path / "three")
    with pytest.raises(UsageError, match="the smallest has"):
        export_corpus(ROOT / "seeds", tmp_path / "three", max_bytes=1)
    assert not (tmp_path / "three").exists()


def test_calls_on_whole_and_damaged_models_keep_within_the_size() -> None:
    found = calls.run(150, seed=3)
    assert found["damaged"] > 15
    assert not found["raised"]
    assert not found["too long"]
    assert found["counts"]["mutated"] > 50
    assert found["counts"]["bytes"] > 5
