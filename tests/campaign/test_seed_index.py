"""The index of a folder of seeds: what an entry must have, what is verified, and what is written is read again."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from irfuzz.campaign.corpus.seed_folder_maintenance import (
    Provenance,
    SeedCandidate,
    _as_recorded,
    _toml,
    _toml_entry,
    add_seed,
    build_seeds,
    list_seeds,
    read_index,
)
from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.ir.program import Program

pytestmark = pytest.mark.unit

ENTRY: dict[str, Any] = {
    "name": "a", "file": "a.onnx", "origin": "o", "licence": "MIT", "sha256": "0", "opset": 17, "nodes": 1,
    "operators": ["Neg"],
}  # fmt: skip
ABOUT = Provenance("by hand", "MIT", 'a "paper"')


def candidate(op: str = "Neg") -> SeedCandidate:
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) {{ y = {op} (x) }}',
    )
    program = Program.from_proto(model)
    data = model.SerializeToString()
    return SeedCandidate(
        data, program.digest, len(model.graph.node), tuple(sorted(n.op_type for n in model.graph.node)), 17, 8,
        ({"name": "x", "dtype": "float32", "shape": [2], "low": 0.0, "high": 1.0},),
        ({"name": "y", "dtype": "float32", "shape": [2]},), {"x": np.zeros((3, 2), np.float32)},
    )  # fmt: skip


def index(folder: Path, *entries: dict[str, Any], head: str = "schema = 1\n") -> Path:
    (folder / "index.toml").write_text(head + "".join(map(_toml_entry, entries)))
    return folder


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"name": None}, "seed None has no name"),
        ({"opset": None, "nodes": None}, "seed 'a' has no nodes, opset"),
        ({"opset": True}, "opset is True; expected a whole number"),
        ({"origin": 1}, "origin is 1; expected text"),
        ({"operators": "Neg"}, "operators is 'Neg'; expected a list"),
        ({"operators": ["Neg", 1]}, "expected names"),
        ({"file": "b/a.onnx"}, "is in another folder"),
    ],
)
def test_an_entry_that_lacks_something_is_named(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    entry = {key: value for key, value in {**ENTRY, **change}.items() if value is not None}
    with pytest.raises(UsageError, match=told):
        read_index(index(tmp_path, entry))


def test_another_schema_or_no_tables_are_refused(tmp_path: Path) -> None:
    assert read_index(index(tmp_path)) == []
    assert read_index(index(tmp_path, ENTRY)) == [ENTRY]
    with pytest.raises(UsageError, match="schema is 2; expected 1"):
        read_index(index(tmp_path, head="schema = 2\n"))
    for text in ("seeds = 1\n", "seeds = [1]\n"):
        with pytest.raises(UsageError, match=r"expected a table \[\[seeds\]\]"):
            read_index(index(tmp_path, head=f"schema = 1\n{text}"))
    with pytest.raises(UsageError, match="expected a folder of seeds"):
        read_index(tmp_path / "none")


def test_files_are_verified_by_their_digest(tmp_path: Path) -> None:
    (tmp_path / "a.onnx").write_bytes(b"abc")
    entries = [
        {**ENTRY, "sha256": hashlib.sha256(b"abc").hexdigest()},
        ENTRY,
        {**ENTRY, "name": "b", "file": "b.onnx", "sha256": hashlib.sha256(b"").hexdigest()},
    ]
    found = list_seeds(index(tmp_path, *entries))
    assert [(one.bytes, one.verified) for one in found] == [(3, True), (3, False), (0, False)]
    assert found[0].to_json() == {
        "name": "a", "nodes": 1, "operators": ("Neg",), "opset": 17, "bytes": 3, "origin": "o", "licence": "MIT",
        "sha256": entries[0]["sha256"], "verified": True,
    }  # fmt: skip
    assert _as_recorded(entries[0], tmp_path)
    assert not _as_recorded(entries[1], tmp_path)
    data = {"data": {"file": "a.onnx", "sha256": "0"}}
    assert not _as_recorded({**entries[0], **data}, tmp_path)


def test_what_is_added_is_read_again_and_once(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    one = candidate()
    assert add_seed(folder, "one", one, ABOUT) == folder / "one.onnx"
    assert (folder / "one.onnx").read_bytes() == one.model
    (entry,) = read_index(folder)
    assert entry["title"] == "one"
    assert (entry["reference"], entry["operators"], entry["data"]["samples"]) == ('a "paper"', ["Neg"], 3)
    assert entry["inputs"] == [dict(each) for each in one.inputs]
    assert entry["outputs"] == [dict(each) for each in one.outputs]
    assert _as_recorded(entry, folder)
    assert np.load(folder / "one.inputs.npz")["x"].shape == (3, 2)
    with pytest.raises(InvalidProgram, match="has this model already, as one"):
        add_seed(folder, "two", one, ABOUT)
    with pytest.raises(InvalidProgram, match="has this model already, as one"):
        add_seed(folder, "two", replace(one, model=one.model + b"\x3a\x00"), ABOUT)
    with pytest.raises(UsageError, match="has a seed of that name"):
        add_seed(folder, "one", candidate("Abs"), ABOUT)
    (folder / "free.inputs.npz").write_bytes(b"")
    with pytest.raises(UsageError, match="has a seed of that name"):
        add_seed(folder, "free", candidate("Abs"), ABOUT)
    (folder / "index.toml").write_text((folder / "index.toml").read_text().rstrip("\n"))
    add_seed(folder, "two", candidate("Abs"), replace(ABOUT, title="t"))
    assert [each["title"] for each in read_index(folder)] == ["one", "t"]
    assert all(seed.verified for seed in list_seeds(folder))


@pytest.mark.parametrize("name", ["", "A", "-a", "a b", "a" * 65])
def test_what_a_seed_may_not_be_called(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="expected lower-case letters"):
        add_seed(tmp_path, name, candidate(), ABOUT)
    add_seed(tmp_path, "a" * 64, candidate(), ABOUT)


@pytest.mark.parametrize(("about", "flag"), [(Provenance(" ", "MIT"), "--origin"), (Provenance("o", ""), "--licence")])
def test_where_it_comes_from_has_to_be_said(tmp_path: Path, about: Provenance, flag: str) -> None:
    with pytest.raises(UsageError, match=f"{flag}: expected some words"):
        add_seed(tmp_path, "a", candidate(), about)


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        add_seed(tmp_path / "file", "a", candidate(), ABOUT)


@pytest.mark.parametrize(
    "value",
    [
        'a "b"\n\x7f',
        1,
        1.5,
        True,
        [],
        [1, 2],
        ["a"],
        [[1], []],
        {"a": 1},
        {"a b": {"c": [1]}},
        [{"a": 1}, {"b": "x"}],
        [1, {"a": 2}],
    ],
)
def test_what_is_written_as_toml_is_read_as_it_was(value: Any) -> None:
    assert tomllib.loads(f"v = {_toml(value)}") == {"v": value}
    text = _toml_entry({"k": value, "l": 1})
    assert tomllib.loads(text) == {"seeds": [{"k": value, "l": 1}]}
    several = isinstance(value, list) and bool(value) and isinstance(value[0], dict)
    assert len(text.splitlines()) == (4 + len(value) + 1 if several else 4)


def test_scripts_are_in_a_checkout_only_and_names_are_known(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="in a checkout only"):
        build_seeds(tmp_path, None, (), print)
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "build.py").write_text("")
    index(tmp_path, ENTRY)
    with pytest.raises(UsageError, match="--only b: no such seed"):
        build_seeds(tmp_path, None, ("a", "b"), print)
    with pytest.raises(UsageError, match="these are the shipped seeds"):
        build_seeds(tmp_path, tmp_path, ("a",), print)
