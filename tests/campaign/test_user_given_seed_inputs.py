"""Samples of a seed reach its mutants where they fit, as they are or varied within what they hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from irfuzz.campaign.config import Layout
from irfuzz.campaign.corpus.user_given_seed_inputs import KEY, MOST_ALONE, SeedSamples, remember, varied
from irfuzz.choices import Choices
from irfuzz.errors import UsageError
from irfuzz.generate.graph_inputs.input_annotation import annotated
from irfuzz.generate.input_spec import InputSpec
from irfuzz.ir.program import Program
from irfuzz.store.database import Database, ProgramRow

pytestmark = pytest.mark.unit

F = np.float32


def program(inputs: str) -> Program:
    text = f'<ir_version: 8, opset_import: ["" : 17]> g ({inputs}) => (int64[?] y) {{ y = Shape(x) }}'
    return Program.from_proto(onnx.parser.parse_model(text))


SEED = program("float[N,H] x, int64[N] n")


def rows(count: int) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    return [{"x": rng.random((2, 5), F), "n": np.array([3, 8])} for _ in range(count)]


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    (tmp_path / "samples").mkdir()
    return Layout(tmp_path)


@pytest.fixture
def database(layout: Layout) -> Database:
    return Database(layout.database)


def kept(database: Database, layout: Layout, spec: InputSpec, seed: Program = SEED) -> bool:
    """As a campaign does it."""
    said = annotated(seed, spec)
    new = remember(database, layout, "seed.onnx", said, spec, seed.digest)
    if new:
        database.add_program(ProgramRow(said.digest, said.to_bytes(), "seed.onnx", "", "{}", 0, -1, 0))
    return new


def test_the_same_or_nothing_continues_and_something_else_does_not(database: Database, layout: Layout) -> None:
    spec = InputSpec(sizes={"H": 5}, ranges={"x": (0.0, 1.0)}, samples=rows(2))
    assert kept(database, layout, spec)
    assert not kept(database, layout, spec)
    assert not kept(database, layout, InputSpec())
    for other in (
        InputSpec(sizes={"H": 6}, ranges={"x": (0.0, 1.0)}, samples=rows(2)),
        InputSpec(sizes={"H": 5}, ranges={"x": (0.0, 2.0)}, samples=rows(2)),
        InputSpec(sizes={"H": 5}, ranges={"x": (0.0, 1.0)}, samples=rows(1)),
        InputSpec(sizes={"H": 5}, ranges={"x": (0.0, 1.0)}),
    ):
        with pytest.raises(UsageError, match=r"seed.onnx: .* holds this seed with H=5, x=0,1, 2 samples"):
            kept(database, layout, other)


def test_a_seed_of_which_nothing_was_said_stays_so(database: Database, layout: Layout) -> None:
    assert kept(database, layout, InputSpec())
    assert KEY not in database.settings()
    with pytest.raises(UsageError, match="with nothing said of its inputs; now it is given with H=5"):
        kept(database, layout, InputSpec(sizes={"H": 5}))


def samples(database: Database, layout: Layout, count: int) -> SeedSamples:
    kept(database, layout, InputSpec(samples=rows(count)))
    return SeedSamples(database, layout)


def test_seeds_run_alone_on_each_sample_once_all_had_a_turn(database: Database, layout: Layout) -> None:
    assert samples(database, layout, 3).alone(["a.onnx", "seed.onnx"]) == [(0, 0), (1, 0), (1, 1), (1, 2)]
    assert SeedSamples(database, layout).alone(["a.onnx", "b.onnx"]) == [(0, 0), (1, 0)]


@pytest.mark.parametrize(("count", "alone"), [(MOST_ALONE, MOST_ALONE), (MOST_ALONE + 1, MOST_ALONE)])
def test_a_seed_runs_alone_on_so_many_samples_at_most(
    database: Database, layout: Layout, count: int, alone: int
) -> None:
    found = samples(database, layout, count)
    assert len(found.alone(["seed.onnx"])) == alone
    assert len(found.of("seed.onnx")) == count


def test_a_sample_is_given_as_it_is_where_it_fits(database: Database, layout: Layout) -> None:
    found = samples(database, layout, 1)
    (sample,) = found.of("seed.onnx")
    made = found.inputs(SEED, sample, 0)
    assert made is not None
    np.testing.assert_array_equal(made["x"], rows(1)[0]["x"])
    np.testing.assert_array_equal(made["n"], [3, 8])


@pytest.mark.parametrize(
    ("inputs", "fits"),
    [
        ("float[N,H] x, float[H,N] more", {"x"}),
        ("float[2,5] x, int64[N] n", {"x", "n"}),
        ("float[3,5] x, int64[N] n", {"n"}),
        ("float16[N,H] x, int64[2] n", {"n"}),
        ("float[N,H,1] x, int64[?] n", set[str]()),
        ("float[N,N] x, int64[N] n", {"n"}),
    ],
)
def test_inputs_that_changed_are_drawn(database: Database, layout: Layout, inputs: str, fits: set[str]) -> None:
    found = samples(database, layout, 1)
    (sample,) = found.of("seed.onnx")
    mutant = program(inputs)
    made = found.inputs(mutant, sample, 0)
    if not fits:
        assert made is None
        return
    assert made is not None
    assert made.keys() == {v.name for v in mutant.graph.inputs}
    same = {name for name in made if name in sample and np.array_equal(made[name], sample[name])}  # type: ignore[arg-type]
    assert same == fits
    if "more" in made:
        assert np.shape(made["more"]) == (5, 2), "a drawn input has the sizes of the sample"


def test_about_half_of_the_mutants_run_on_samples_and_half_of_these_on_varied_ones(
    database: Database, layout: Layout
) -> None:
    found = samples(database, layout, 2)
    drawn = plain = moved = 0
    for number in range(200):
        made = found.give("seed.onnx", SEED, None, 0, Choices.from_seed(number))
        if made is None:
            drawn += 1
        elif any(np.array_equal(made["x"], sample["x"]) for sample in rows(2)):  # type: ignore[arg-type]
            plain += 1
        else:
            moved += 1
    assert 70 < drawn < 130
    assert 30 < plain < 80
    assert 25 < moved < 75
    assert found.give("other.onnx", SEED, None, 0, Choices.from_seed(0)) is None
    alone = found.give("seed.onnx", SEED, 3, 0, Choices.from_seed(0))
    assert alone is not None
    np.testing.assert_array_equal(alone["x"], rows(2)[1]["x"])  # type: ignore[arg-type]


def test_samples_that_are_gone_are_told(database: Database, layout: Layout) -> None:
    samples(database, layout, 1)
    for path in layout.samples.iterdir():
        path.unlink()
    with pytest.raises(UsageError, match="the samples of a seed cannot be read: No such file"):
        SeedSamples(database, layout)


@pytest.mark.parametrize(
    "array",
    [
        np.linspace(-3, 3, 40, dtype=F).reshape(8, 5),
        np.linspace(0, 1, 40, dtype=np.float16),
        np.array([1, 5, 9, 1000] * 8),
        np.array([True, False] * 16),
        np.array(["a", "bc"] * 16, object),
    ],
)
def test_a_variation_stays_within_what_is_there(array: np.ndarray) -> None:
    different = 0
    for seed in range(30):
        made = varied(array, np.random.default_rng(seed))
        assert (made.shape, made.dtype) == (array.shape, array.dtype)
        if array.dtype.kind == "f":
            assert array.min() <= made.min() <= made.max() <= array.max()
        else:
            assert set(made.ravel().tolist()) <= set(array.ravel().tolist())
        different += not np.array_equal(made, array)
    assert different > 15


def test_a_variation_of_nothing_or_of_one_number_is_the_same() -> None:
    for array in (np.zeros((0, 3), F), np.full((4,), 2.5, F), np.array(16000), np.array([np.nan, 1.0], F)):
        made = varied(array, np.random.default_rng(3))
        assert (made.shape, made.dtype) == (array.shape, array.dtype)
        assert np.isin(made, array).all() or np.isnan(made).any()
