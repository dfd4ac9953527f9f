"""Every kind of value comes back from an npz without pickling."""

from __future__ import annotations

import io
import zipfile

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from irfuzz.errors import InvalidProgram
from irfuzz.store.npz_tensors import Value, pack, unpack

DTYPES = [
    np.dtype(name) for name in ("bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex64")
] + [np.dtype(kind) for kind in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4, ml_dtypes.uint4)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (2, 3)], ids=str)
def test_tensors_come_back(dtype: np.dtype, shape: tuple[int, ...]) -> None:
    array = (np.arange(int(np.prod(shape, dtype=int))) % 2).reshape(shape).astype(dtype)
    back = unpack(pack({"x": array}))["x"]
    assert isinstance(back, np.ndarray)
    assert back.dtype == dtype
    assert back.shape == shape
    assert back.tobytes() == array.tobytes()


def test_strings_sequences_and_nothing_come_back() -> None:
    texts = np.array([["a\0", ""], ["é", "long " * 9]], dtype=object)
    values = {"s": texts, "seq": [np.float32(1.5), [np.arange(3)], None], "none": None}
    back = unpack(pack(values))
    assert back["s"].tolist() == texts.tolist()  # type: ignore[union-attr]
    assert back["none"] is None
    seq = back["seq"]
    assert isinstance(seq, list)
    assert seq[0] == np.float32(1.5)
    assert seq[1][0].tolist() == [0, 1, 2]  # type: ignore[index,union-attr]
    assert seq[2] is None


@pytest.mark.parametrize(
    "names",
    [
        ["file", "allow_pickle"],
        ["x", "x.npy", "x.npy.npy", "x.npy_"],
        ["seq/0", "seq"],
        ["__irfuzz__", "__irfuzz___"],
        ["a\0b", "a\0c"],
    ],
)
def test_names_that_a_member_cannot_have_are_kept(names: list[str]) -> None:
    values: dict[str, Value] = {name: np.array([n]) for n, name in enumerate(names)}
    if "seq" in names:
        values["seq"] = [np.array([7.0])]
    assert str(unpack(pack(values))) == str(values)


@given(st.text(min_size=1), hnp.arrays(np.float32, hnp.array_shapes(max_dims=3)))
def test_any_name_is_kept(name: str, array: np.ndarray) -> None:
    assert list(unpack(pack({name: array}))) == [name]


def test_a_plain_npz_is_read_as_tensors() -> None:
    buffer = io.BytesIO()
    np.savez(buffer, a=np.ones(2))
    assert unpack(buffer.getvalue())["a"].tolist() == [1.0, 1.0]  # type: ignore[union-attr]


@pytest.mark.parametrize("data", [b"", b"rubbish", b"PK\x03\x04rubbish"])
def test_rubbish_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(InvalidProgram, match=r"x\.npz"):
        unpack(data, "x.npz")


def test_pickled_members_are_refused() -> None:
    buffer = io.BytesIO()
    np.savez(buffer, a=np.array([{"any": "object"}], dtype=object))
    with pytest.raises(InvalidProgram):
        unpack(buffer.getvalue())


def _archive(member: bytes, kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", kind) as archive:
        archive.writestr("x.npy", member)
    return made.getvalue()


def _npy(shape: tuple[int, ...], data: bytes) -> bytes:
    made = io.BytesIO()
    np.lib.format.write_array_header_1_0(made, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return made.getvalue() + data


@pytest.mark.unit
def test_a_header_that_says_more_than_there_is_takes_no_memory() -> None:
    assert unpack(_archive(_npy((2,), bytes(16))))["x"].shape == (2,)
    with pytest.raises(InvalidProgram, match=r"its header says \d+ bytes, more than the \d+ of it"):
        unpack(_archive(_npy((1 << 40, 1 << 20), bytes(16))))


@pytest.mark.unit
def test_an_archive_that_unpacks_to_far_more_than_it_has_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irfuzz.store.npz_tensors.UNPACKED", 1 << 10)
    packed = _archive(_npy((1 << 17,), bytes(1 << 20)))
    with pytest.raises(InvalidProgram, match="bytes unpack to 10487"):
        unpack(packed, "x.npz")
    assert unpack(_archive(_npy((1 << 17,), bytes(1 << 20)), zipfile.ZIP_STORED))["x"].size == 1 << 17


@pytest.mark.unit
def test_spoilt_bytes_of_an_archive_are_refused() -> None:
    packed = _archive(_npy((4,), np.random.default_rng(0).bytes(32)))
    refused = 0
    for place in range(len(packed)):
        for bit in (1, 128):
            spoilt = bytearray(packed)
            spoilt[place] ^= bit
            try:
                unpack(bytes(spoilt))
            except InvalidProgram:
                refused += 1
    assert refused > len(packed)
