"""Steps that are decided: inputs of Floor, Greater and the like, and how far they are from where these jump."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from irfuzz.execute.run_types import Exit
from irfuzz.oracle.numeric.discontinuity_distance import DISTANCES, far_from_steps
from irfuzz.spec import trait_values

pytestmark = pytest.mark.unit


@pytest.fixture
def far(parse, run) -> Callable[..., bool]:
    """Whether all steps are decided on a target that gives ``taps`` for the inner values it is asked for."""

    def ask(text: str, taps: Any = None, exit: Exit = Exit.OK, **fed: Any) -> bool:  # noqa: A002
        program = parse(text, 18)
        inputs = {
            name: np.array(value, np.float32) if isinstance(value, list) else value for name, value in fed.items()
        }

        def rerun(given: Any, _program: Any = None) -> list[Any]:
            assert set(given) == {v.name for v in program.graph.inputs}
            outputs = {name: np.array(value, np.float32) for name, value in (taps or {}).items()}
            return [run("t", outputs=outputs, exit=exit)]

        return far_from_steps(program, program.graph.outputs[0], {**inputs, "other": np.zeros(1)}, rerun)

    return ask


def one(node: str, kind: str = "float", size: int = 1) -> str:
    return f"g ({kind}[{size}] x) => (y) <float c = {{2}}> {{ y = {node} }}"


@pytest.mark.parametrize(
    ("node", "x", "decided"),
    [
        ("Floor(x)", [1.5], True),
        ("Floor(x)", [0.00009], False),
        ("Floor(x)", [0.00011], True),
        ("Floor(x)", [-0.00009], False),
        ("Floor(x)", [3.0], False),
        # The margin is a share of the largest element.
        ("Floor(x)", [100.009], False),
        ("Floor(x)", [100.012], True),
        ("Floor(x)", [float("nan")], False),
        ("Floor(x)", [float("inf")], False),
        ("Ceil(x)", [1.5], True),
        ("Round(x)", [2.5], False),
        ("Round(x)", [2.5002], False),
        ("Round(x)", [2.503], True),
        ("Round(x)", [3.0], True),
        ("Sign(x)", [0.00009], False),
        ("Sign(x)", [-0.00011], True),
        ("Greater(x, c)", [2.0001], False),
        ("Greater(x, c)", [2.0003], True),
        ("Equal(c, x)", [1.9999], False),
        ("Equal(c, x)", [1.9], True),
        ("Cast<to = 7>(x)", [1.5], False),
        ("Neg(x)", [1.5], False),
    ],
)
def test_one_step(far, node: str, x: list[float], decided: bool) -> None:
    assert far(one(node), x=x) == decided


def test_the_margin_itself_is_too_near(far) -> None:
    text = one("Sign(x)", "double")
    assert not far(text, x=np.array([1e-4]))
    assert far(text, x=np.array([np.nextafter(1e-4, 1)]))


def test_every_element_counts(far) -> None:
    text = one("Floor(x)", size=2)
    assert far(text, x=[1.5, 0.5])
    assert not far(text, x=[1.5, 1.0])
    assert far(one("Floor(x)", size=0), x=np.zeros(0, np.float32))


BRANCHES = (
    "g (float[1] x) => (y) <bool c = {1}> { a = Floor(x)  y = If(c) <then_branch = t () => (p)"
    " { p = Neg(a) }, else_branch = e () => (q) { q = Abs(a) }> }"
)


@pytest.mark.parametrize(
    "text",
    [
        "g (float16[1] x) => (y) { y = Floor(x) }",  # its roundings are wider than the margin
        "g (int64[1] x) => (y) <int64 c = {2}> { y = Greater(x, c) }",  # no step of floats
        BRANCHES,
    ],
)
def test_what_cannot_be_looked_at(far, text: str) -> None:
    x = np.array([1.5], {"f": np.float16 if "float16" in text else np.float32, "i": np.int64}[text[3]])
    assert not far(text, x=x)


def test_inner_values_are_those_of_the_target(far) -> None:
    text = "g (float[1] x) => (float[1] y) { a = Exp(x)  y = Floor(a) }"
    assert far(text, {"a": [1.5]}, x=[0.4])
    assert not far(text, {"a": [2.0]}, x=[0.4])
    assert not far(text, {}, x=[0.4])
    assert not far(text, {"a": [1.5]}, Exit.CRASH, x=[0.4])
    both = "g (float[1] x) => (float[1] y) { a = Floor(x)  b = Exp(a)  y = Floor(b) }"
    assert far(both, {"b": [2.7]}, x=[1.5])
    assert not far(both, {"b": [2.7]}, x=[1.0])
    chosen = "g (float[1] x) => (float[1] y) <float c = {2}> { a = Greater(x, c)  y = Where(a, x, c) }"
    assert far(chosen, x=[1.5])
    assert not far(chosen, x=[2.0])


def test_without_another_run_nothing_is_known(parse) -> None:
    program = parse(one("Floor(x)"))
    assert not far_from_steps(program, program.graph.outputs[0], {"x": np.array([1.5], np.float32)}, None)


def test_every_kind_of_step_has_a_distance() -> None:
    assert set(trait_values("distance_to_step").values()) == set(DISTANCES)
