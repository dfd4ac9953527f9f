"""What generated Keras source looks like."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.keras.emitter_table import EMITTERS
from irfuzz.export.keras.layer_emitters import SPELLED
from irfuzz.export.keras.original_layer_calls import is_layer, layer
from irfuzz.export.source.framework_description import FrameworkDescription

KERAS = FrameworkDescription(
    component="keras",
    title="Keras",
    support="irfuzz.export.keras.support",
    imports=(("inspect.", "import inspect"), ("json.", "import json"), ("", "import keras")),
    reserved=frozenset({"inspect", "json", "keras"}),
    dtypes=SPELLED,
    plain=frozenset(SPELLED) - {ir.DataType.BOOL},
    forms={},
    emitters=EMITTERS,
    run=(
        "    model, names = functional(forward, *tensors(arrays, inputs))",
        "    return dict(zip(names, evaluated(model, inputs)))",
    ),
    always=frozenset({"evaluated", "functional", "to_array", "to_tensor"}),
    keeps=is_layer,
    layer=layer,
)
