from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irfuzz.errors import SpecError
from irfuzz.spec.constraints.expression import MAX_LENGTH, parse
from irfuzz.spec.constraints.expression_functions import Undefined

pytestmark = pytest.mark.unit


def value(text: str, **env: Any) -> Any:
    return parse(text, "test").evaluate(env)


@pytest.mark.parametrize(
    ("text", "env", "expected"),
    [
        ("C // group", {"C": 8, "group": 2}, 4),
        ("len(D) - 1", {"D": (3, 4)}, 1),
        ("D + 1", {"D": (3, 4)}, (4, 5)),
        ("D * K", {"D": (3, 4), "K": (2, 5)}, (6, 20)),
        ("-axis % 4", {"axis": 1}, 3),
        ("prod(D[1:])", {"D": (9, 3, 4)}, 12),
        ("D[-1]", {"D": (9, 3, 4)}, 4),
        ("2 if direction == 'bidirectional' else 1", {"direction": "forward"}, 1),
        ("min(4, max(D))", {"D": (1, 9)}, 4),
        ("max(a, b)", {"a": (1, 5), "b": (3, 2)}, (3, 5)),
        ("mode in ('a', 'b')", {"mode": "b"}, True),
        ("mode not in ('a', 'b')", {"mode": "b"}, False),
        ("1 <= n <= 3", {"n": 3}, True),
        ("1 <= n <= 3", {"n": 4}, False),
        ("put(S, join(axis), 1)", {"S": (2, 3, 4), "axis": -1}, (2, 3, 1)),
        ("without(S, (0, 2))", {"S": (2, 3, 4)}, (3,)),
        ("broadcast(A, B)", {"A": (2, 1), "B": (5, 1, 3)}, (5, 2, 3)),
        ("2 ** 10", {}, 1024),
        ("shape(X)[0]", {"shape:X": (7,)}, 7),
        ("has(B)", {"has:B": False}, False),
        ("among(a, ('Relu', 'Tanh'))", {"a": ("relu", "Tanh")}, True),
        ("among(a, ('Relu', 'Tanh'))", {"a": ("Elu", "Tanh")}, False),
        ("among(labels, join(iota(3), -1))", {"labels": (0, 2, -1)}, True),
        ("column(rois, 3, 1)", {"rois": (1, 2, 3, 4, 5, 6)}, (2, 5)),
        ("distinct_grams(pool, (0, 2))", {"pool": (1, 2, 5, 6, 5, 7)}, True),
        ("distinct_grams(pool, (0, 2))", {"pool": (1, 2, 5, 6, 5, 6)}, False),
        ("distinct_grams(pool, (0, 2))", {"pool": (1, 1, 5, 6)}, False),
    ],
)
def test_values(text: str, env: dict[str, Any], expected: Any) -> None:
    result = parse(text, "test").evaluate(env)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("text", "env", "expected"),
    [
        ("C + 1", {}, None),
        ("C == 3", {"C": None}, None),
        ("C == 3 and False", {}, False),
        ("C == 3 or True", {}, True),
        ("C == 3 and True", {}, None),
        ("not C", {}, None),
        ("D == (3, 4)", {"D": (None, 5)}, False),
        ("D == (3, 4)", {"D": (None, 4)}, None),
        ("prod(D)", {"D": (None, 0)}, 0),
        ("prod(D)", {"D": (None, 2)}, None),
        ("distinct(D)", {"D": (None, 2, 2)}, False),
        ("distinct(D)", {"D": (None, 2)}, None),
        ("1 in D", {"D": (None, 2)}, None),
        ("1 in D", {"D": (None, 1)}, True),
        ("broadcasts_to(A, B)", {"A": (None,), "B": (3,)}, None),
        ("broadcasts_to(A, B)", {"A": (2, None), "B": (3, 3)}, False),
    ],
)
def test_unknown_is_neither_true_nor_false(text: str, env: dict[str, Any], expected: bool | None) -> None:
    e = parse(text, "test")
    result = e.evaluate(env) if type(expected) is int else e.holds(env)
    assert result == expected


@pytest.mark.parametrize(
    ("text", "column", "why"),
    [
        ("__import__('os')", 1, "unknown function"),
        ("a.b", 1, "Attribute"),
        ("1 + lambda: 0", 5, "invalid syntax"),
        ("[x for x in D]", 1, "ListComp"),
        ("len(*D)", 1, "starred"),
        ("f'{a}'", 1, "JoinedStr"),
        ("a @ b", 1, "MatMult"),
        ("a << 3", 1, "LShift"),
        ("a is b", 1, "Is"),
        ("1j", 1, "constant"),
        ("None", 1, "constant"),
        ("D[::2]", 3, "no step"),
        ("len()", 1, "takes 1 to 1"),
        ("shape(1)", 1, "name of one input"),
        ("(1 +", 1, "never closed"),
        ("a := 3", 3, "invalid syntax"),
        ("1" * 60, 1, "too large"),
    ],
)
def test_what_is_not_in_the_language_is_refused_with_its_place(text: str, column: int, why: str) -> None:
    with pytest.raises(SpecError, match=r"Conv\.toml: require\.rules") as e:
        parse(text, "Conv.toml: require.rules[0]")
    assert f"column {column}" in str(e.value)
    assert why in str(e.value)
    assert repr(text) in str(e.value)


def test_hostile_sizes_are_refused() -> None:
    with pytest.raises(SpecError, match="characters"):
        parse("1+" * MAX_LENGTH + "1", "x")
    for text in ("2 ** 10000", "2 ** 60 * 2 ** 60", "fill(10 ** 9, 0)", "iota(10 ** 9)", "9 ** 64", "'a' * 3"):
        with pytest.raises(Undefined):
            value(text)
    with pytest.raises(SpecError):
        parse("(" * 240 + "1" + ")" * 240, "x")


@pytest.mark.parametrize("text", ["1 // 0", "1 % 0", "D[5]", "D + (1, 2, 3)", "C[0]", "1 + 'a'", "min(())", "C < 'a'"])
def test_no_value_is_a_broken_condition_not_an_error(text: str) -> None:
    with pytest.raises(Undefined):
        value(text, D=(1, 2), C=3)
    assert parse(text, "test").holds({"D": (1, 2), "C": 3}) is False


@given(st.text(alphabet="abD()[]+-*/%<>=., 0123456789'lenprod", max_size=60))
def test_any_text_parses_or_is_a_spec_error(text: str) -> None:
    try:
        e = parse(text, "x")
    except SpecError:
        return
    try:
        e.evaluate({"D": (1, 2, None), "a": 3})
    except Undefined:
        return
