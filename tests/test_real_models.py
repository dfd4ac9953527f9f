"""The list of real models is whole, and nothing in irfuzz knows one of them by its name."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.real_models.catalogue import LISTS, Model, models
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
