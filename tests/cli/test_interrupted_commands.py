"""Each long command that is interrupted ends within two seconds, prints what it knows as partial, and can go on."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import onnx
import pytest

from irfuzz.cli.interrupt_handling import STOPPED
from tests.campaign.running import wait_until
from tests.cli.test_interrupt_handling import interrupted, running, tree

pytestmark = pytest.mark.backend

MODEL = """<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x) => (float[2, 3] y)
{ a = Tanh(x) b = Neg(a) c = Add(b, a) d = Mul(c, x) y = Relu(d) }"""

# No input makes it divide by zero, which the analysis does not see: it knows no relation of a value with itself.
UNREACHABLE = """<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3] x) => (float[2, 3] y)
<float one = {1}> { a = Sin(x) b = Cos(x) c = Mul(a, a) d = Mul(b, b) e = Add(c, d) y = Div(one, e) }"""

TARGET = '''
import time
from pathlib import Path

import onnx
from onnx.reference import ReferenceEvaluator

QUICK = {quick}
"""Calls that are answered; the next one is not."""


class Slow:
    irfuzz_allow = ("files",)
    calls = 0

    def run(self, model, inputs):
        Slow.calls += 1
        if Slow.calls > QUICK:
            Path("{mark}").touch()
            time.sleep(600)
        model = onnx.load_model_from_string(model)
        return dict(zip([o.name for o in model.graph.output], ReferenceEvaluator(model).run(None, inputs)))
'''

FACTORY = """
import time
from pathlib import Path

def model():
    Path("{mark}").touch()
    time.sleep(600)
"""

CHECK = """#!/bin/bash
echo >> calls
[ $(wc -l < calls) -le 3 ] && exit 0
touch {mark}
exec sleep 600
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    onnx.save(onnx.parser.parse_model(MODEL), tmp_path / "model.onnx")
    onnx.save(onnx.parser.parse_model(UNREACHABLE), tmp_path / "unreachable.onnx")
    mark = tmp_path / "mark"
    for quick in (0, 12):
        (tmp_path / f"slow{quick}.py").write_text(TARGET.format(quick=quick, mark=mark))
    (tmp_path / "factory.py").write_text(FACTORY.format(mark=mark))
    (tmp_path / "check.sh").write_text(CHECK.format(mark=mark))
    (tmp_path / "check.sh").chmod(stat.S_IRWXU)
    return tmp_path


def stopped(here: Path, *words: object) -> tuple[str, str]:
    """What a command printed that was interrupted when it had left its mark."""
    with running("-P", "-m", "irfuzz", *words, cwd=here) as process:
        mark = here / "mark"
        assert wait_until(lambda: mark.exists() or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        return interrupted(process)


def test_while_a_model_is_read(here: Path) -> None:
    out, err = stopped(here, "analyze", "factory.py:model")
    assert out == ""
    assert err.splitlines()[-1] == "irfuzz: stopped"


def test_while_a_target_runs_forms(here: Path) -> None:
    words = ["equiv", "model.onnx", "--targets", "slow12.py:Slow", "--timeout", 500]
    out, err = stopped(here, *words)
    assert out.splitlines()[0] == "partial: stopped before all forms were compared"
    assert re.search(r"slow12.py:Slow: .*\d+ same", out)
    assert err.splitlines()[-1] == "irfuzz: stopped"
    (here / "mark").unlink()
    found = json.loads(stopped(here, *words, "--json")[0])
    assert found["partial"] is True
    assert found["contradictions"] == []


def test_before_anything_is_known(here: Path) -> None:
    """Nothing is said of a model of which nothing was compared."""
    out, _ = stopped(here, "equiv", "model.onnx", "--targets", "slow0.py:Slow", "--timeout", 500, "--json")
    assert json.loads(out)["answers"] == {}


def test_while_generations_are_run(here: Path) -> None:
    words = ["evolve", "model.onnx", "--targets", "slow12.py:Slow", "--population", 8, "--time", "10m"]
    out, _ = stopped(here, *words)
    first, last = out.splitlines()
    assert first == "partial: stopped before the search was over"
    assert re.match(r"model.onnx: nothing found in 1 generations", last)
    (here / "mark").unlink()
    found = json.loads(stopped(here, *words, "--json")[0])
    assert (found["partial"], found["generations"], found["found"]) == (True, 1, None)


def test_while_a_witness_is_looked_for(here: Path) -> None:
    with running(
        "-P", "-m", "irfuzz", "analyze", "unreachable.onnx", "--range", "x=-1,1", "--witness-time", 300, cwd=here
    ) as process:
        assert process.stderr is not None
        assert re.match(r"irfuzz: analyzing: 0 of 1 warnings, 0 confirmed, \d+ s", process.stderr.readline())
        out, err = interrupted(process)
    assert out.splitlines()[0] == "partial: stopped after a search for witnesses of 0 of 1 warnings"
    assert "possible: " in out
    assert err.splitlines()[-1] == "irfuzz: stopped"


def test_while_a_candidate_is_looked_at(here: Path) -> None:
    out, err = stopped(here, "reduce", "model.onnx", "--check", "./check.sh", "-o", "small.onnx", "--jobs", 1)
    lines = out.splitlines()
    assert lines[0] == "partial: stopped before the smallest was found"
    found = re.match(r"small.onnx: 5 -> (\d) nodes", lines[1])
    assert found
    assert len(onnx.load(here / "small.onnx").graph.node) == int(found[1]) < 5
    assert err.splitlines()[-1] == "irfuzz: stopped: the same call goes on from there"
    (here / "check.sh").write_text("#!/bin/bash\nexit 0\n")
    again = ["-P", "-m", "irfuzz", "reduce", "model.onnx", "--check", "./check.sh", "-o", "small.onnx", "--json"]
    with running(*again, cwd=here) as process:
        goes_on, _ = process.communicate(timeout=120)
    told = json.loads(goes_on)
    assert (told["complete"], told["partial"]) == (True, False)


def test_ctrl_c_twice(here: Path) -> None:
    """The second one, while the first is obeyed, changes nothing."""
    with running("-P", "-m", "irfuzz", "equiv", "model.onnx", "--targets", "slow12.py:Slow", cwd=here) as process:
        assert wait_until((here / "mark").exists)
        assert len(tree(process.pid)) >= 3
        process.send_signal(2)
        out, err = interrupted(process)
    assert out.startswith("partial: ")
    assert "Traceback" not in err
    assert process.returncode == STOPPED


def test_time_of_equiv(here: Path) -> None:
    """All models together have so long; what was compared by then is told, and that it is not all."""
    words = ["-P", "-m", "irfuzz", "equiv", "model.onnx", "--targets", "reference", "--forms", 100_000, "--time", "1s"]
    words += ["--rewrites", "negate-twice,commute,identity"]  # Without Loop: docs/bugs.md, 41, is a contradiction.
    with running(*words, "--json", cwd=here) as process:
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    found = json.loads(out)
    assert found["partial"] is True
    assert 0 < sum(found["answers"]["reference"].values()) < 100_000
    with running(*words, cwd=here) as process:
        out, _ = process.communicate(timeout=60)
    assert out.splitlines()[0] == "partial: the time was over before all forms were compared"


@pytest.mark.parametrize("command", ["equiv", "evolve", "analyze", "coverage"])
def test_what_is_whole_says_so(here: Path, command: str) -> None:
    more = {"equiv": ["--targets", "reference", "--forms", 1], "evolve": ["--generations", 1]}.get(command, [])
    with running("-P", "-m", "irfuzz", command, "model.onnx", "--json", *more, cwd=here) as process:
        out, err = process.communicate(timeout=120)
    assert json.loads(out)["partial"] is False, err


def test_while_several_processes_make_mutants(here: Path) -> None:
    words = ["mutate", "model.onnx", "-o", "out", "-n", 1_000_000, "--jobs", 2]
    with running("-P", "-m", "irfuzz", *words, cwd=here) as process:
        assert wait_until(lambda: len(list((here / "out").glob("*.trace.json"))) >= 5)
        assert len(tree(process.pid)) == 3
        out, err = interrupted(process)
    assert out == ""
    found = re.search(r"irfuzz: stopped: (\d+) of 1000000 mutants are in out$", err.strip())
    assert found, err
    names = {path.name for path in (here / "out").iterdir()} - {"seeds"}
    assert names == {f"{i:06d}{end}" for i in range(int(found[1])) for end in (".onnx", ".trace.json")}
