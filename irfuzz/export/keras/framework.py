"""What generated Keras source looks like."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.keras.layers import SPELLED
from irfuzz.export.keras.table import EMITTERS
from irfuzz.export.source.framework import Framework

KERAS = Framework(
    component="keras",
    title="Keras",
    support="irfuzz.export.keras.support",
    imports=(("", "import keras"),),
    reserved=frozenset({"keras"}),
    dtypes=SPELLED,
    plain=frozenset(SPELLED) - {ir.DataType.BOOL},
    forms={},
    emitters=EMITTERS,
    run=(
        "    model, names = functional(forward, *tensors(arrays, inputs))",
        "    outputs = model(list(inputs.values()), training=False)",
        "    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]",
        "    return {name: to_array(value) for name, value in zip(names, outputs)}",
    ),
    always=frozenset({"functional", "to_array", "to_tensor"}),
)
