"""The list of real models is whole, and nothing in irfuzz knows one of them by its name."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.real_models import page
from benchmarks.real_models.catalogue import EXPECTED, LISTS, PAGE, RESULTS, Model, models
from benchmarks.real_models.expected import difference
from benchmarks.real_models.run import measured, verdict
from benchmarks.real_models.sensible_inputs import sample

ROOT = Path(__file__).resolve().parents[1]
GENERAL = {"onnx", "model", "common", "sig", "bak", "onet", "encoder", "decoder", "320n"}
"""Packages and files whose names mean something else, too."""


def names(model: Model) -> set[str]:
    """What a model may be known by: its package, its file and the list's own name; none if no package ships it."""
    if model.built:
        return set()
    package = re.split(r"==|@(?=\d)", model.origin)[0]
    found = {package, package.split("/")[-1], Path(model.file).name.removesuffix(".onnx"), model.id}
    return {name.lower() for name in found} - GENERAL


def known_names() -> set[str]:
    return {name for which in LISTS for model in models(which) for name in names(model)}


def test_the_list_has_the_size_and_the_families_that_it_promises() -> None:
    listed, held = models("listed"), models("held-out")
    assert len(listed) >= 25
    assert len({model.family for model in listed}) >= 12
    assert len(held) == 10
    ids = [model.id for model in [*listed, *held]]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("which", LISTS)
def test_every_model_says_where_it_comes_from_and_what_it_takes(which: str) -> None:
    for model in models(which):
        assert sum(map(bool, (model.pypi, model.npm, model.built))) == 1, model.id
        assert model.built or (model.file and re.fullmatch(r"[0-9a-f]{64}", model.sha256)), model.id
        assert not model.pypi or re.fullmatch(r"[a-z0-9-]+==[0-9.]+", model.pypi), model.id
        assert model.inputs, model.id


@pytest.mark.parametrize("which", LISTS)
def test_sensible_inputs_are_the_same_for_the_same_number_and_differ_between_numbers(which: str) -> None:
    for model in models(which):
        first, again, other = sample(model, 0), sample(model, 0), sample(model, 1)
        assert all(np.array_equal(first[name], again[name]) for name in first), model.id
        assert any(not np.array_equal(first[name], other[name]) for name in first), model.id


def pattern(name: str) -> str:
    """The name as a word, however its parts are joined."""
    return r"(?<![a-z0-9])" + "[^a-z0-9]?".join(re.findall("[a-z0-9]+", name)) + r"(?![a-z0-9])"


@pytest.mark.parametrize(
    ("text", "known"),
    [("silero_vad", True), ("SileroVAD", True), ("magika.onnx", True), ("black", False), ("silero", False)],
)
def test_a_name_is_recognised_as_a_word_only(text: str, known: bool) -> None:
    told = re.compile("|".join(map(pattern, ["silero-vad", "magika", "lac"])), re.IGNORECASE)
    assert bool(told.search(text)) is known


def test_irfuzz_knows_no_model_of_the_list_by_its_name() -> None:
    told = known_names()
    assert {"silero-vad", "magika", "light_resnet50"} <= told
    wanted = re.compile("|".join(map(pattern, sorted(told))), re.IGNORECASE)
    files = [path for folder in ("irfuzz", "ops", "cpp") for path in (ROOT / folder).rglob("*")]
    sources = [path for path in files if path.suffix in {".py", ".toml", ".json", ".cpp", ".h", ".hpp"}]
    assert len(sources) > 500
    found = [f"{path.relative_to(ROOT)}: {hit[0]}" for path in sources if (hit := wanted.search(path.read_text()))]
    assert found == []


def test_the_page_holds_what_the_results_say() -> None:
    results = json.loads(RESULTS.read_text())
    expected = {which: json.loads(path.read_text())["models"] for which, path in EXPECTED.items()}
    assert PAGE.read_text() == page.rendered(results, expected)


@pytest.mark.parametrize("which", LISTS)
def test_every_model_has_an_expected_verdict(which: str) -> None:
    rows = json.loads(EXPECTED[which].read_text())["models"]
    assert [model.id for model in models(which)] == list(rows)
    assert {row["verdict"] for row in rows.values()} <= {"agree", "disagree", "does not run"}


@pytest.mark.parametrize(
    ("code", "headline", "got"),
    [
        (0, "m.onnx: 7 targets agree to 1e-3 on 8 inputs", ("agree", 0)),
        (0, "m.onnx: 7 targets agree exactly on 8 inputs; UNDECIDED on 7 of them, where", ("agree", 7)),
        (0, "m.onnx: 7 targets agree exactly on 8 inputs; UNDECIDED on 8 of them, where", ("undecided", 8)),
        (0, "m.onnx: 7 targets agree exactly on 1 input; UNDECIDED on 1 of them, where", ("undecided", 1)),
        (0, "m.onnx: 7 targets agree on 8 inputs; NOTHING COMPARED of output 'y': NaN", ("nothing compared", 0)),
        (0, "m.onnx: 5 targets agree exactly on 8 inputs; 5 inputs run on no target", ("agree", 5)),
        (1, "m.onnx: 1 of 7 targets DISAGREE on 8 of 8 inputs", ("disagree", 0)),
        (2, "irfuzz: error: m.onnx: no target runs the model", ("refused", 0)),
        (3, "", ("fault of irfuzz", 0)),
        (-9, "", ("exit -9", 0)),
        (None, "", ("not done in time", 0)),
    ],
)
def test_a_doubtful_agreement_does_not_count_as_one(code: int | None, headline: str, got: tuple[str, int]) -> None:
    assert verdict(code, headline) == got


def test_a_refusal_is_right_only_if_the_model_does_not_run() -> None:
    assert page.right({"got": "refused"}, {"verdict": "does not run"})
    assert not page.right({"got": "refused"}, {"verdict": "agree"})
    assert not page.right({"got": "agree"}, {"verdict": "does not run"})


def test_a_command_is_ended_with_its_workers_when_its_time_is_over(tmp_path: Path) -> None:
    quick = measured([sys.executable, "-c", "print('done'); raise SystemExit(2)"], tmp_path)
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"
    sleeping = measured([sys.executable, "-c", code], tmp_path, limit=1.0)
    assert (quick.code, quick.output.strip()) == (2, "done")
    assert sleeping.code is None
    assert 1.0 <= sleeping.seconds < 20.0


@pytest.mark.parametrize(
    ("a", "b", "near", "agrees"),
    [
        (np.float32([1.0, 2.0]), np.float32([1.0, 2.0019]), 0.0, True),
        (np.float32([1.0, 2.0]), np.float32([1.0, 2.0021]), 0.0, False),
        (np.float32([1.0, 2.0]), np.float32([1.0, 2.07]), 4e-2, True),
        (np.float32([1.0, 2.0]), np.float32([1.0, 2.09]), 4e-2, False),
        (np.float16([1.0, 2.0]), np.float16([1.0, 2.03]), 0.0, True),
        (np.int64([1, 2]), np.int64([1, 3]), 4e-2, False),
        (np.float32([np.nan, 2.0]), np.float32([np.nan, 2.0]), 0.0, True),
        (np.float32([np.nan, 2.0]), np.float32([1.0, 2.0]), 0.0, False),
        (np.float32([1.0]), np.float32([[1.0]]), 0.0, False),
    ],
)
def test_runtimes_agree_within_the_precision_of_their_outputs(
    a: np.ndarray, b: np.ndarray, near: float, agrees: bool
) -> None:
    assert difference(a, b, near)[1] is agrees
