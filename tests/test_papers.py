"""The papers' subjects: DEBAR's nine architectures as TensorFlow code, and programs as GRIST's data set has them."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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


TORCH = """
import torch
from torchvision import datasets, transforms
loader = torch.utils.data.DataLoader(datasets.MNIST("nowhere", transform=transforms.ToTensor()), batch_size=4)
pictures, labels = next(iter(loader))
layer = torch.nn.Linear(784, 10)
from scripts.utils.torch_utils import GradientSearcher
search = GradientSearcher(name="mine")
search.build(batch_size=4, min_val=0, max_val=1)
while True:
    pictures = torch.autograd.Variable(pictures.view(-1, 784), requires_grad=True)
    p = torch.softmax(layer(pictures), dim=1)
    chosen = torch.zeros_like(p).scatter_(1, labels.unsqueeze(1), 1)
    loss = -(chosen * torch.log(p)).sum(dim=1).mean()
    objective = torch.min(torch.abs(p))
    watched = {"loss": loss, "obj_function": objective, "obj_grad": torch.autograd.grad(objective, pictures)[0]}
    pictures, _ = search.update_batch_data(monitor_var=watched, input_data=pictures)
    raise SystemExit("it went on")
"""

HARMLESS = """
import tensorflow as tf
from scripts.utils.tf_utils import TensorFlowScheduler
x = tf.placeholder(tf.float32, [None, 4])
gain = tf.Variable(tf.random_uniform([4], 1, 16))
loss = tf.reduce_sum(x / (gain * gain + 1e-3))
obj_function = tf.reduce_min(tf.abs(gain))
session = tf.Session()
session.run(tf.global_variables_initializer())
search = TensorFlowScheduler(name="mine")
while True:
    value, other = session.run([loss, obj_function], feed_dict={x: [[1.0, 2.0, 3.0, 4.0]]})
    search.loss_checker(value)
"""


def rows_of(checkout: Path, programs: Mapping[str, str]) -> list[dict[str, Any]]:
    """What the benchmark says of the programs of a checkout."""
    (checkout / "scripts" / "utils").mkdir(parents=True)
    listed = json.dumps([[name] for name in programs])
    (checkout / "scripts" / "utils" / "run_all.py").write_text(f"file_names = {listed}")
    for name, text in programs.items():
        path = checkout / "scripts" / "study_case" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    told = checkout / "told.json"
    command = [sys.executable, "-m", "benchmarks.papers.grist", str(checkout), "--seconds", "60", "--json", str(told)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=PLACES)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    return json.loads(told.read_text())


@pytest.mark.skipif(not importlib.util.find_spec("onnxscript"), reason="needs irfuzz[torch]")
def test_programs_of_a_checkout_run_up_to_their_first_step(tmp_path: Path) -> None:
    programs = {"ID_1/mine.py": PROGRAM, "ID_2/torch.py": TORCH, "ID_3/harmless.py": HARMLESS, "ID_4/none.py": "x = 1"}
    mine, torch, harmless, none = rows_of(tmp_path, programs)
    for row in (mine, torch):
        assert row["why"] == ""
        assert len(row["defects"]) == 1
        assert row["defects"][0].lower().startswith("log ")
        assert row["warned"] == row["confirmed"] == row["defects"]  # weights may grow, and logits with them
        assert (row["mended"], row["twin"], row["missed"]) == (True, [], [])
    assert (harmless["why"], harmless["defects"], harmless["warned"], harmless["twin"]) == ("", [], [], [])
    assert none["why"] == "it ended without a step"
