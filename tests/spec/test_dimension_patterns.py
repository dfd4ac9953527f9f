from __future__ import annotations

from typing import Any

import pytest

from irfuzz.errors import SpecError
from irfuzz.spec.constraints.dimension_patterns import parse_pattern

pytestmark = pytest.mark.unit


def matched(text: str, shape: tuple[Any, ...], **env: Any) -> tuple[dict[str, Any], str | None]:
    pattern = parse_pattern(text, "x")
    assert pattern.fits(len(shape))
    wrong = pattern.match(shape, env, [])
    return env, wrong


@pytest.mark.parametrize(
    ("text", "shape", "bound"),
    [
        ("N, C, *D", (1, 2, 3, 4), {"N": 1, "C": 2, "D": (3, 4)}),
        ("N, C, *D", (1, 2), {"N": 1, "C": 2, "D": ()}),
        ("*P, H, W", (5, 3, 4), {"P": (5,), "H": 3, "W": 4}),
        ("broadcast(*P), R, K", (5, 3, 4), {"P": (5,), "R": 3, "K": 4}),
        ("", (), {}),
        ("_, *_, K", (5, 3, 4), {"K": 4}),
    ],
)
def test_match_binds(text: str, shape: tuple[int, ...], bound: dict[str, Any]) -> None:
    assert matched(text, shape) == (bound, None)


def test_bound_names_must_agree_unless_unknown() -> None:
    assert "N is 3 elsewhere and 1 here" in str(matched("N, C", (1, 2), N=3)[1])
    assert matched("N, C", (None, 2), N=3) == ({"N": 3, "C": 2}, None)
    assert matched("*D", (None, 2), D=(4, None)) == ({"D": (4, 2)}, None)
    assert "elsewhere" in str(matched("*D", (5, 2), D=(4, None))[1])
    assert "has 1 sizes elsewhere and 2 here" in str(matched("*D", (5, 2), D=(4,))[1])


def test_broadcast_joins() -> None:
    assert matched("broadcast(*S)", (3, 1), S=(5, 1, 4))[0]["S"] == (5, 3, 4)
    assert matched("broadcast(*S)", (None, 4), S=(5, 1))[0]["S"] == (5, 4)
    assert "does not broadcast" in str(matched("broadcast(*S)", (3,), S=(2,))[1])


def test_into_is_one_way() -> None:
    pattern = parse_pattern("into(R, Q)", "x")
    env = {"R": 3, "Q": 4}
    assert [pattern.broadcasts(s, env) for s in ((), (4,), (3, 1), (1, 4), (None, 4))] == [None] * 5
    assert "does not broadcast into (3, 4)" in str(pattern.broadcasts((3,), env))
    assert not pattern.fits(3)


def test_ranks() -> None:
    pattern = parse_pattern("N, C, *D", "x")
    assert [pattern.fits(r) for r in range(4)] == [False, False, True, True]
    assert pattern.ranks() == "rank at least 2"
    assert not parse_pattern("N, C", "x").fits(3)


def test_target_evaluates_expressions() -> None:
    pattern = parse_pattern("M, C // group, *(put(S, join(0), 9))", "x")
    assert pattern.target({"M": 4, "C": 6, "group": 2, "S": (1, 2)}) == (4, 3, 9, 2)
    assert pattern.needs == {"M", "C", "group", "S"}
    assert pattern.binds == {"M"}


@pytest.mark.parametrize("text", ["*A, *B", "*(A), broadcast(*B)", "N,,C", "N, C,", "*1", "broadcast(S)", "a.b", "N C"])
def test_bad_patterns_name_file_and_key(text: str) -> None:
    with pytest.raises(SpecError, match=r"Conv\.toml: dims\.X"):
        parse_pattern(text, "Conv.toml: dims.X")
