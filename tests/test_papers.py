"""The papers' subjects: DEBAR's nine architectures as TensorFlow code."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import irfuzz

ROOT = Path(__file__).resolve().parents[1]

# The irfuzz that is tested, and not the one of the checkout, in which nothing may be built.
PLACES = {
    **os.environ,
    "PYTHONSAFEPATH": "1",
    "PYTHONPATH": os.pathsep.join(map(str, (Path(irfuzz.__file__).parents[1], ROOT))),
}

pytestmark = [
    pytest.mark.backend,
    pytest.mark.slow,
    pytest.mark.skipif(
        not all(importlib.util.find_spec(m) for m in ("tensorflow", "tf2onnx")), reason="needs irfuzz[tensorflow]"
    ),
]

SCRIPT = """
import json, sys
from collections import Counter
from benchmarks.papers.debar import analysed
from benchmarks.papers.debar_architectures import ARCHITECTURES
rows = {}
for a in ARCHITECTURES:
    found = [analysed(a, mended=mended)[2] for mended in (False, True)]
    rows[a.name] = [dict(Counter(w.op for w in f.warnings)) for f in found] + [dict(a.faults)]
print("ROWS " + json.dumps(rows))
"""


def test_every_fault_of_debars_architectures_is_named_and_no_twin_is_warned_of() -> None:
    """In a process of their own, which alone imports TensorFlow."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False, env=PLACES)
    assert done.returncode == 0, done.stderr[-2000:]
    line = next(text for text in done.stdout.splitlines() if text.startswith("ROWS "))
    rows = json.loads(line.removeprefix("ROWS "))
    assert len(rows) == 9
    for name, (buggy, mended, faults) in rows.items():
        assert buggy == faults, name
        assert mended == {}, name


PROGRAM = """
import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data
import matplotlib.pyplot as plt
digits = input_data.read_data_sets("nowhere", one_hot=True)
fig, ax = plt.subplots()
x, y = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.float32, [None, 10])
w, b = tf.Variable(tf.zeros([784, 10])), tf.Variable(tf.zeros([10]))
p = tf.nn.softmax(tf.matmul(x, w) + b)
loss = -tf.reduce_sum(y * tf.log(p))
step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
from scripts.utils.tf_utils import GradientSearcher
search = GradientSearcher(name="mine")
objective = tf.reduce_min(tf.abs(p))
session = tf.Session()
session.run(tf.global_variables_initializer())
pictures, labels = digits.train.next_batch(8)
search.build(batch_size=8, min_val=0, max_val=1)
watched = {"loss": loss, "obj_function": objective, "obj_grad": tf.gradients(objective, x)[0]}
pictures, _ = search.update_batch_data(session=session, monitor_var=watched, feed_dict={x: pictures, y: labels},
                                       input_data=pictures)
raise SystemExit("it went on")
"""


def test_a_program_of_a_checkout_runs_up_to_its_first_step(tmp_path: Path) -> None:
    (tmp_path / "scripts" / "utils").mkdir(parents=True)
    (tmp_path / "scripts" / "utils" / "run_all.py").write_text('file_names = [["ID_1/mine.py"], ["ID_2/other.py"]]')
    for name, text in (("ID_1/mine.py", PROGRAM), ("ID_2/other.py", "import torch")):
        path = tmp_path / "scripts" / "study_case" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    told = tmp_path / "told.json"
    command = [sys.executable, "-m", "benchmarks.papers.grist", str(tmp_path), "--seconds", "60", "--json", str(told)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=PLACES)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    mine, other = json.loads(told.read_text())
    assert other["why"] == "a PyTorch program"
    assert mine["why"] == ""
    assert len(mine["defects"]) == 1
    assert mine["defects"][0].startswith("Log ")
    assert mine["warned"] == mine["confirmed"] == mine["defects"]  # w and b start at 0 and are in [-1, 1]
    assert (mine["mended"], mine["twin"], mine["missed"]) == (True, [], [])
