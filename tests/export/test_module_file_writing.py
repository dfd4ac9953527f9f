"""Arrays as a file: the same bytes every time, members of any name, plain or compressed."""

from __future__ import annotations

import io
import time

import numpy as np
import pytest

from irfuzz.export.module_file_writing import npz_of

pytestmark = pytest.mark.unit

ARRAYS = {
    "file": np.arange(6, dtype=np.float32).reshape(2, 3),
    "allow_pickle": np.array(True),
    "a/b c": np.zeros((0, 4), np.int8),
    "text": np.array(["a", "long"]),
}


@pytest.mark.parametrize("compressed", [False, True])
def test_numpy_reads_what_was_written(compressed: bool) -> None:
    data = npz_of(ARRAYS, compressed=compressed)
    with np.load(io.BytesIO(data), allow_pickle=False) as members:
        assert sorted(members.files) == sorted(ARRAYS)
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(members[name], array)
            assert members[name].dtype == array.dtype


def test_the_time_of_writing_is_no_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before = npz_of(ARRAYS)
    later = time.time() + 1e6
    monkeypatch.setattr(time, "time", lambda: later)
    assert npz_of(ARRAYS) == before
    assert len(npz_of({"x": np.zeros(1000)}, compressed=True)) < len(npz_of({"x": np.zeros(1000)}))
