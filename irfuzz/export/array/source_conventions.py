"""What generated NumPy source looks like."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.array.emitter_table import EMITTERS
from irfuzz.export.source.framework_description import FrameworkDescription

DTYPES: dict[ir.DataType, str] = {
    ir.DataType.FLOAT: "np.float32",
    ir.DataType.DOUBLE: "np.float64",
    ir.DataType.FLOAT16: "np.float16",
    ir.DataType.BFLOAT16: "ml_dtypes.bfloat16",
    ir.DataType.INT8: "np.int8",
    ir.DataType.INT16: "np.int16",
    ir.DataType.INT32: "np.int32",
    ir.DataType.INT64: "np.int64",
    ir.DataType.UINT8: "np.uint8",
    ir.DataType.UINT16: "np.uint16",
    ir.DataType.UINT32: "np.uint32",
    ir.DataType.UINT64: "np.uint64",
    ir.DataType.BOOL: "np.bool_",
}

ARRAY = FrameworkDescription(
    component="numpy",
    title="NumPy",
    support="irfuzz.export.array.support",
    imports=(("ml_dtypes.", "import ml_dtypes"),),
    reserved=frozenset({"np", "ml_dtypes"}),
    dtypes=DTYPES,
    plain=frozenset(DTYPES) - {ir.DataType.BOOL},
    forms={},
    emitters=EMITTERS,
    run=(
        '    with np.errstate(all="ignore"):',
        "        outputs = forward(*tensors(arrays, inputs))",
        "        return {name: to_array(value) for name, value in outputs.items()}",
    ),
)
