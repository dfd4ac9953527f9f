"""What users write is read, and whatever else stands at its place is one line: a pipe, a device, no TOML, too much."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.frontends.regular_file_opening import read_plain
from irfuzz.frontends.toml_file_reading import read_toml
from irfuzz.generate.random_programs import read_generated
from irfuzz.mutate.mutation_trace import read_trace

pytestmark = pytest.mark.unit


def test_a_table_is_read(tmp_path: Path) -> None:
    (tmp_path / "it.toml").write_text("a = [1, 'é']\n", encoding="utf-8")
    assert read_toml(tmp_path / "it.toml", "it") == {"a": [1, "é"]}


@pytest.mark.parametrize(
    "data",
    [b"a = " + b"9" * 5000, b"a = " + b"[" * 100_000, b"a = " + b"{b=" * 50_000, b"\xff = 1", b"a = \0", b"a"],
    ids=["digits", "lists", "tables", "bytes", "nul", "nothing"],
)
def test_what_is_no_toml_is_one_line(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "it.toml").write_bytes(data)
    with pytest.raises(UsageError, match=r"^it: not TOML: ") as told:
        read_toml(tmp_path / "it.toml", "it")
    assert "\n" not in str(told.value)


def test_pipes_and_devices_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name in ("pipe", "zero", "."):
        with pytest.raises(UsageError, match=r"it: cannot be read: not a plain file( but a directory)?; expected one"):
            read_toml(tmp_path / name, "it", "; expected one")
        with pytest.raises(UsageError, match="cannot read the trace: not a plain file"):
            read_trace(tmp_path / name)
        assert read_generated(tmp_path / name) is None
    with pytest.raises(UsageError, match="it: cannot be read: No such file"):
        read_toml(tmp_path / "none", "it")


@pytest.mark.parametrize(("most", "fits"), [(3, True), (2, False)])
def test_a_file_is_read_up_to_a_size(tmp_path: Path, most: int, fits: bool) -> None:
    (tmp_path / "it").write_bytes(b"abc")
    if fits:
        assert read_plain(tmp_path / "it", most) == b"abc"
    else:
        with pytest.raises(InvalidProgram, match="expected at most 2 bytes, got 3"):
            read_plain(tmp_path / "it", most)
