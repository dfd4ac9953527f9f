"""A node that fails only as long as sizes are open is found with open sizes, and no other is run so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser
import pytest

from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.ir.program import Program
from irfuzz.localize.nodes import single_node_replay
from irfuzz.localize.nodes.single_node_replay import Replayed, ReplayOutcome, faulty_parts, replay
from irfuzz.localize.nodes.subprogram_extraction import Cutter

OPEN = "float[2, 3, 4] x, int64[R] s"
CLOSED = "float[2, 3, 4] x, int64[3] s"
FEEDS = {"x": np.arange(24, dtype=np.float32).reshape(2, 3, 4), "s": np.array([4, 3, 2])}
KNOWN = {**FEEDS, "t": FEEDS["x"] + 0.5, "u": (FEEDS["x"] + 0.5).reshape(4, 3, 2)}


def program(inputs: str) -> Program:
    return Program.from_proto(
        onnx.parser.parse_model(
            f"""<ir_version: 8, opset_import: ["" : 17]> g ({inputs}) => (float[A, B, C] y)
            <float half = {{0.5}}> {{ t = Add (x, half)  u = Reshape (t, s)  y = Transpose <perm = [2, 0, 1]> (u) }}"""
        )
    )


@pytest.mark.unit
def test_a_cut_has_the_sizes_of_the_run_or_those_of_the_program() -> None:
    sizes = {}
    for open_sizes in (False, True):
        cut, feeds = Cutter(program(OPEN), KNOWN, open_sizes=open_sizes).cut(2, 3)
        (value,) = cut.graph.inputs
        sizes[open_sizes] = cut.fact(value).shape
        assert feeds.keys() == {"u"}
    assert sizes == {False: (4, 3, 2), True: None}


@pytest.mark.unit
def test_a_program_leaves_sizes_open_if_one_that_a_node_reads_is() -> None:
    def fixed(text: str) -> Program:
        return Program.from_proto(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}'))

    assert Cutter(program(OPEN), KNOWN).leaves_sizes_open()
    assert not Cutter(fixed("g (float[2] x) => (float[2] y) { y = Neg (x) }"), {}).leaves_sizes_open()
    assert Cutter(fixed("g (float[N] x) => (float[N] y) { y = Neg (x) }"), {}).leaves_sizes_open()


@pytest.mark.backend
@pytest.mark.planted
def test_what_fails_with_open_sizes_alone_is_found_with_them(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    refusing = "benchmarks/papers/faults.py:rank_of_the_input_alone"
    with Runner(resolve(["reference", refusing])) as runner:
        base, other = runner.targets
        found = replay(runner, program(OPEN), KNOWN, base, other)
        parts = faulty_parts(runner, program(OPEN), KNOWN, base, other, most=3)
        one, two = runner.run(*parts[0])
        healthy = replay(runner, program(CLOSED), KNOWN, base, other)
    assert (found[0].op, found[0].outcome, found[0].open_sizes) == ("Transpose", ReplayOutcome.FAILS, True)
    assert found[0].detail.endswith("(sizes left open)")
    assert [r.op for r in found if r.faulty] == ["Transpose"]
    assert len(parts) == 1
    assert one.exit.value == "ok"
    assert two.exit.value == "rejected"
    assert not any(r.faulty or r.open_sizes for r in healthy)


@pytest.mark.backend
def test_a_node_that_fails_anyway_is_not_run_with_open_sizes(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    wrong = "tests/planted_targets/wrong.py:copied_not_transposed"
    with Runner(resolve(["reference", wrong])) as runner:
        found: list[Replayed] = replay(runner, program(OPEN), KNOWN, *runner.targets)
    assert (found[0].op, found[0].faulty, found[0].open_sizes) == ("Transpose", True, False)


@pytest.mark.unit
@pytest.mark.parametrize(("took", "sizes"), [(1.0, [1, 2, 4, 3]), (1.125, [1] * 10)])
def test_nodes_travel_together_as_long_as_that_is_quick(
    monkeypatch: pytest.MonkeyPatch, took: float, sizes: list[int]
) -> None:
    now, asked = [100.0], []

    def run(places: list[tuple[int, int]]) -> list[Replayed]:
        now[0] += took
        asked.append(len(places))
        return [Replayed(first, end, "", "Neg", ReplayOutcome.DIFFERS) for first, end in places]

    monkeypatch.setattr(single_node_replay.time, "monotonic", lambda: now[0])
    body = " ".join(f"v{n + 1} = Neg (v{n})" for n in range(10))
    text = f'<ir_version: 8, opset_import: ["" : 17]> g (float[2] v0) => (float[2] v10) {{ {body} }}'
    cutter = Cutter(Program.from_proto(onnx.parser.parse_model(text)), {})
    found = single_node_replay._nodes_and_rows(run, cutter, lambda: False, (), lambda _done, _of: None)
    assert (asked, sorted(r.first for r in found)) == (sizes, list(range(10)))
    asked.clear()
    end = now[0] + 3 * took
    few = single_node_replay._nodes_and_rows(run, cutter, lambda: now[0] >= end, (), lambda _done, _of: None)
    assert (asked, len(few)) == (sizes[:3], sum(sizes[:3]))
