"""The seeds that learned to read digits: as good as recorded, alive inside, the same at every level of ONNXRuntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from tests.seeds.shipped import BY_NAME, ENTRIES, each, feed, load, reference, samples, session

LEVELS = ("DISABLE_ALL", "ENABLE_BASIC", "ENABLE_EXTENDED", "ENABLE_LAYOUT", "ENABLE_ALL")
DIGITS = [e for e in ENTRIES if "accuracy" in e["data"]]
NAMED = [e for e in DIGITS if any(isinstance(d, str) for i in e["inputs"] for d in i["shape"])]
each_seed = each(DIGITS)


def scores_of(runner: Any, inputs: dict[str, np.ndarray]) -> np.ndarray:
    (scores,) = runner.run(None, inputs)
    return scores


@each_seed
def test_samples_are_labelled(entry: dict[str, Any]) -> None:
    labels = samples(entry["name"])[entry["data"]["labels"]]
    assert len(labels) == entry["data"]["samples"] >= 100
    assert set(labels.tolist()) == set(range(10))


@pytest.mark.backend
@each_seed
def test_accuracy_on_the_held_out_samples_is_the_recorded_one(entry: dict[str, Any]) -> None:
    runner = session(load(entry["name"]), "ENABLE_ALL")
    labels = samples(entry["name"])["labels"]
    right = sum(int(scores_of(runner, feed(entry, i)).argmax() == label) for i, label in enumerate(labels))
    # One sample whose two best scores nearly tie may fall on the other side on another processor.
    assert right / len(labels) == pytest.approx(entry["data"]["accuracy"], abs=1.5 / len(labels))
    assert right / len(labels) > (0.97 if entry["name"] == "lenet5" else 0.95)


@pytest.mark.backend
@each_seed
@pytest.mark.parametrize("level", LEVELS)
def test_onnxruntime_agrees_with_the_reference_evaluator(entry: dict[str, Any], level: str) -> None:
    model = load(entry["name"])
    expected, runner = reference(model), session(model, level)
    # Power-of-two scales make every step of the quantised network exact.
    atol = 0.0 if entry["name"] == "qcnn" else 1e-4
    for i in range(5):
        inputs = feed(entry, i)
        np.testing.assert_allclose(scores_of(runner, inputs), scores_of(expected, inputs), rtol=0, atol=atol)


@each_seed
def test_output_moves_with_every_input(entry: dict[str, Any]) -> None:
    runner = reference(load(entry["name"]))
    base = feed(entry, 0)
    before = scores_of(runner, base)
    assert np.isfinite(before).all()
    assert np.ptp(before) > 1
    for value in entry["inputs"]:
        moved = base[value["name"]].copy()
        moved[0, ..., moved.shape[-1] // 2] = value["low"] + value["high"] - moved[0, ..., moved.shape[-1] // 2]
        after = scores_of(runner, {**base, value["name"]: moved})
        assert np.abs(after - before).max() > 0.1, value["name"]


@pytest.mark.backend
@each_seed
def test_every_inner_value_is_alive(entry: dict[str, Any]) -> None:
    """Whatever depends on the samples differs between them, is finite, and is not small or saturated throughout."""
    model = onnx.ModelProto()
    model.CopyFrom(load(entry["name"]))
    depends = {i["name"] for i in entry["inputs"]}
    shown: list[str] = []
    for node in model.graph.node:
        # What is computed from a shape only is the same for all samples of one shape.
        if node.op_type != "Shape" and depends & set(node.input):
            depends |= set(node.output)
            shown += [v for v in node.output if v]
    del model.graph.output[:]
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(v) for v in shown)
    runner = session(model, "DISABLE_ALL")
    runs = [runner.run(None, feed(entry, i)) for i in range(20)]
    assert len(shown) >= len(entry["operators"]) // 2
    for name, arrays in zip(shown, zip(*runs, strict=True), strict=True):
        stacked = np.stack(arrays).astype(np.float64)
        assert np.isfinite(stacked).all(), name
        moves = stacked.std(axis=0).reshape(-1) > 1e-3
        assert moves.mean() > 0.25, f"{name}: {moves.mean():.0%} of its elements differ between samples"


@pytest.mark.backend
@each(NAMED)
def test_a_named_batch_can_have_any_size(entry: dict[str, Any]) -> None:
    for runner in (reference(load(entry["name"])), session(load(entry["name"]), "ENABLE_ALL")):
        single = np.concatenate([scores_of(runner, feed(entry, i)) for i in range(3)])
        np.testing.assert_allclose(scores_of(runner, feed(entry, 0, 3)), single, rtol=0, atol=1e-4)


def test_the_transformer_ignores_rows_that_its_mask_hides() -> None:
    entry = BY_NAME["transformer"]
    runner = reference(load("transformer"))
    inputs = feed(entry, 0)
    mask = np.ones_like(inputs["attention_mask"])
    mask[0, 3] = 0
    changed = inputs["rows"].copy()
    changed[0, 3] = 1 - changed[0, 3]
    hidden = [scores_of(runner, {"rows": rows, "attention_mask": mask}) for rows in (inputs["rows"], changed)]
    np.testing.assert_allclose(hidden[0], hidden[1], rtol=0, atol=1e-5)


def test_the_quantised_network_is_exact_in_float32() -> None:
    tensors = {t.name: onnx.numpy_helper.to_array(t) for t in load("qcnn").graph.initializer}
    scales = {name: array for name, array in tensors.items() if name.endswith(".scale")}
    assert scales
    for name, array in scales.items():
        assert (np.frexp(array)[0] == 0.5).all(), f"{name} is not a power of two"
    for name in ("stem", "conv", "depthwise", "pointwise", "dense"):
        weight = tensors[f"{name}.weight"].astype(np.int64)
        # Pairs of products must fit in 16 bits on processors without VNNI, sums in float32's 24 bits.
        assert np.abs(weight).max() <= 63
        largest = 255 * np.abs(weight).reshape(len(weight), -1).sum(axis=1) + np.abs(tensors[f"{name}.bias"])
        assert largest.max() < 2**24
