"""Generation from nothing: valid, varied, of the wanted form, and rebuilt by its trace."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import onnx
import pytest

import irfuzz
from irfuzz.cli.main import main
from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.generate.input_values import make_inputs
from irfuzz.generate.random_programs import Generated, generate, rebuild_generated
from irfuzz.ir.verifier import verify
from irfuzz.spec import with_trait

TOPOLOGIES = ("free", "chain", "cell")


@pytest.fixture(scope="module")
def programs() -> dict[str, list[Generated]]:
    return {topology: list(generate(n=25, seed=3, topology=topology)) for topology in TOPOLOGIES}


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_all_are_valid_and_rebuilt(topology: str, programs: dict[str, list[Generated]]) -> None:
    made = programs[topology]
    assert len(made) == 25
    for each in made:
        assert verify(each.program) == []
        onnx.checker.check_model(each.model_proto, full_check=True)
        assert len(each.program.graph) >= 10
        assert rebuild_generated(json.loads(json.dumps(each.trace))) == each.to_bytes()
    assert len({each.to_bytes() for each in made}) == 25


@pytest.mark.backend
def test_all_run(programs: dict[str, list[Generated]]) -> None:
    pytest.importorskip("onnxruntime")
    from irfuzz.execute.run_types import Exit
    from irfuzz.execute.runner import Runner
    from irfuzz.execute.target_table import resolve
    from irfuzz.isolate import Limits

    with Runner(resolve(["onnxruntime:disabled"]), Limits(seconds=60)) as runner:
        for topology, made in programs.items():
            for index, each in enumerate(made):
                result = runner.run(each.program, make_inputs(each.program, 1))[0]
                assert result.exit is Exit.OK, f"{topology} {index}: {result.stage} {result.error}"


def test_operators_are_spread(programs: dict[str, list[Generated]]) -> None:
    counts = Counter(node.op_type for each in programs["free"] for node in each.program.graph)
    assert len(counts) >= 70
    assert counts.most_common(1)[0][1] < 0.3 * counts.total()


def test_forms_differ(programs: dict[str, list[Generated]]) -> None:
    """A free graph has several inputs; in a chain and in cells everything starts from one."""
    inputs = {name: [len(each.program.graph.inputs) for each in made] for name, made in programs.items()}
    assert max(inputs["chain"]) == max(inputs["cell"]) == 1
    assert sum(count > 1 for count in inputs["free"]) > 10

    def merges(topology: str) -> int:
        """Nodes that read two values which the program computes."""
        return sum(
            len({v for v in node.inputs if v is not None and (v.producer() or v.is_graph_input())}) > 1
            for each in programs[topology]
            for node in each.program.graph
        )

    assert merges("cell") > merges("chain") > 0


def test_only_wanted_operators() -> None:
    wanted = ["Conv", "Relu", "Add", "MaxPool"]
    made = list(generate(n=8, seed=0, nodes=6, ops=wanted))
    assert len(made) == 8
    found = {node.op_type for each in made for node in each.program.graph}
    assert found == set(wanted), "a free graph has nothing else, and all of them are used"
    assert all(len(each.program.graph) == 6 for each in made)


@pytest.mark.parametrize("op", sorted(with_trait("random")))
def test_of_random_operators_nothing_but_the_shape_is_read(op: str) -> None:
    made = list(generate(n=4, seed=9, nodes=6, ops=[op])) + list(generate(n=4, seed=9, nodes=6, ops=[op, "Relu"]))
    assert len(made) == 8
    nodes = [node for each in made for node in each.program.graph]
    assert {node.op_type for node in nodes} == {op, "Relu", "Shape", "Size"}
    for node in nodes:
        if node.op_type == op:
            assert {use.node.op_type for use in node.outputs[0].uses()} < {"Shape", "Size"}
            assert not node.outputs[0].is_graph_output()
    assert Counter(n.op_type in ("Shape", "Size") for n in nodes)[True] == sum(n.op_type == op for n in nodes)


@pytest.mark.parametrize("topology", ["chain", "cell"])
def test_what_merges_values_alone_is_no_program(topology: str) -> None:
    assert list(generate(n=2, seed=9, ops=["RandomNormal"], topology=topology)) == []


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_few_nodes_come_on_top(topology: str) -> None:
    sizes = [len(each.program.graph) for each in generate(n=20, seed=13, nodes=25, topology=topology)]
    assert min(sizes) >= 25
    assert sum(sizes) / len(sizes) < 32
    assert max(sizes) <= 45


def test_another_process_makes_the_same() -> None:
    code = (
        "import irfuzz, hashlib\n"
        "print([hashlib.sha256(g.to_bytes()).hexdigest() for g in irfuzz.generate(n=3, seed=11, topology='cell')])"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(Path(irfuzz.__file__).parents[1]), "PYTHONHASHSEED": "77"},
    )
    assert done.stdout.strip() == str([g.trace["sha256"] for g in irfuzz.generate(n=3, seed=11, topology="cell")])


@pytest.mark.parametrize("opset", [13, 18, 21])
def test_other_opsets(opset: int) -> None:
    for each in generate(n=4, seed=1, opset=opset):
        assert each.program.opset == opset
        onnx.checker.check_model(each.model_proto, full_check=True)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"topology": "ring"}, "chain, cell, free"), ({"nodes": 0}, "from 1 to"), ({"opset": 12}, "13, 17, 18, 21"),
        ({"ops": ["Konv"]}, "'Konv'"), ({"ops": "Conv"}, "expected a list"), ({"ops": []}, "at least one"),
        ({"domains": ["ai.onnx.mll"]}, "'ai.onnx.mll' has no known operators"), ({"domains": "x"}, "expected a list"),
        ({"n": -1}, "0 or more"), ({"seed": "x"}, "an integer"),
    ],
)  # fmt: skip
def test_wrong_arguments(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        generate(**wrong)  # type: ignore[arg-type]


def test_operators_of_other_domains_come_only_if_they_are_asked_for() -> None:
    asked, plain = (
        [node.domain for each in generate(n=12, seed=5, domains=domains) for node in each.program.graph]
        for domains in (["com.microsoft", "com.microsoft"], [])
    )
    assert {*asked} == {"", "com.microsoft"}
    assert {*plain} == {""}
    (each,) = generate(seed=5, domains=["com.microsoft"])
    assert each.trace["generated"]["domains"] == ["com.microsoft"]
    assert rebuild_generated(json.loads(json.dumps(each.trace))) == each.to_bytes()
    assert "domains" not in next(generate(seed=5)).trace["generated"]


def test_a_changed_trace_is_refused() -> None:
    (each,) = generate(seed=4)
    for change, said in (
        (lambda t: t["choices"].append(0), "draws"),
        (lambda t: t["choices"].pop(), "trace ends|draws|sha256"),
        (lambda t: t.update(sha256="0" * 64), "sha256"),
        (lambda t: t["generated"].update(version=0), "version 0"),
        (lambda t: t["generated"].update(topology="ring"), "topology"),
        (lambda t: t["generated"].update(nodes="many"), "nodes"),
        (lambda t: t["generated"].pop("ops"), "expected version"),
        (lambda t: t["generated"].update(domains=["no.such"]), "no.such"),
        (lambda t: t["generated"].update(domains="ai.onnx.ml"), "domains: expected null or a list"),
        (lambda t: t.update(choices=["x"]), "finite numbers"),
        (lambda t: t.update(schema=9), "schema"),
    ):
        trace = copy.deepcopy(each.trace)
        change(trace)
        with pytest.raises(InvalidProgram, match=said):
            rebuild_generated(trace)


def test_the_command_and_replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "fresh"
    assert main(["generate", "-n", "3", "-o", str(out), "--seed", "2", "--topology", "chain", "--json"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [Path(t["model"]).name for t in told] == ["000000.onnx", "000001.onnx", "000002.onnx"]
    assert all(t["nodes"] == len(t["operators"]) == len(onnx.load(t["model"]).graph.node) for t in told)
    before = (out / "000000.onnx").read_bytes()
    assert main(["generate", "-n", "1", "-o", str(out), "--seed", "3"]) == 2
    said = capsys.readouterr().err
    assert f"{out / '000000.onnx'} (and 1 more) is there already" in said
    assert "--force" in said
    assert (out / "000000.onnx").read_bytes() == before
    assert main(["generate", "-n", "1", "-o", str(out), "--seed", "3", "--force"]) == 0
    assert (out / "000000.onnx").read_bytes() != before
    again = tmp_path / "again.onnx"
    assert main(["replay", told[1]["trace"], "-o", str(again)]) == 0
    assert again.read_bytes() == Path(told[1]["model"]).read_bytes()
    trace = json.loads(Path(told[1]["trace"]).read_text())
    trace["sha256"] = "0" * 64
    bad = tmp_path / "bad.trace.json"
    bad.write_text(json.dumps(trace))
    capsys.readouterr()
    assert main(["replay", str(bad)]) == 2
    assert "expected a model with sha256 0000" in capsys.readouterr().err
    assert main(["generate", "-o", str(tmp_path / "none"), "--ops", "Konv"]) == 2
    assert "--ops: no calls of 'Konv' are drawn" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_the_command_keeps_what_was_made_where_it_is_fewer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    some = list(generate(n=2, seed=5, nodes=2))
    monkeypatch.setattr("irfuzz.generate.random_programs.generate", lambda **_: iter(some))
    out = tmp_path / "fresh"
    assert main(["generate", "-n", "3", "-o", str(out)]) == 2
    told = capsys.readouterr()
    assert told.out.startswith("2 models with ")
    assert told.err == (f"irfuzz: error: -n 3: only 2 models could be made of these operators; they are in {out}\n")
    assert [path.read_bytes() for path in sorted(out.glob("*.onnx"))] == [each.to_bytes() for each in some]
    some.clear()
    assert main(["generate", "-o", str(tmp_path / "none"), "--ops", "Relu", "--topology", "chain"]) == 2
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert "--ops Relu: not one model of --topology chain could be made" in told.err
    assert not (tmp_path / "none").exists()
