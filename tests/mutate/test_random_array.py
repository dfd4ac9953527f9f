"""Elements of drawn constants, in every element type that ONNX has."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest

from irfuzz.facts import TensorFact
from irfuzz.mutate.editing.call_inputs import random_array
from irfuzz.mutate.editing.operator_type_portability import INTEGER_LIMITS
from irfuzz.spec.operator_spec import SampledInput

pytestmark = pytest.mark.unit

KINDS = [kind for kind in ir.DataType if kind is not ir.DataType.UNDEFINED]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("nonzero", [False, True])
def test_every_type_has_elements(kind: ir.DataType, nonzero: bool) -> None:
    for seed in range(40):
        array = random_array(SampledInput(TensorFact(kind, (3,))), seed, nonzero)
        assert array.shape == (3,)
        assert array.dtype == kind.numpy()
        if kind in INTEGER_LIMITS:
            least, most = INTEGER_LIMITS[kind]
            assert all(least <= int(e) <= most for e in array.astype(object))
            assert not nonzero or np.all(array.astype(np.float64) != 0)


def test_every_integer_type_has_limits() -> None:
    assert {kind for kind in KINDS if kind.is_integer()} <= INTEGER_LIMITS.keys()
