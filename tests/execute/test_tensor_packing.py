"""What a worker is told of tensors: those that numpy has travel as they are, wherever they come from."""

from __future__ import annotations

import pickle

import ml_dtypes
import numpy as np
import pytest

from irfuzz.execute.adapters.tensor_packing import pack, unpack

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "bool"])
def test_arrays_of_numpys_types_are_sent_as_they_are(dtype: str) -> None:
    pickled = pickle.loads(pickle.dumps(np.arange(6).astype(dtype)))
    assert pickled.dtype.isbuiltin == 0, "such a type was taken for another package's"
    about, values = pack("c", {"x": pickled})
    assert about == [{"name": "x"}]
    assert values[0] is pickled


def test_other_packages_types_travel_as_bytes() -> None:
    value = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    about, values = pack("c", {"x": value})
    assert about[0]["shape"] == [2]
    assert values[0].dtype == np.uint8
    assert unpack(about, values)["x"].tolist() == value.tolist()
