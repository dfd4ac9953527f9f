"""What generated TensorFlow source looks like."""

from __future__ import annotations

import onnx_ir as ir

from irfuzz.export.source.framework_description import FrameworkDescription
from irfuzz.export.tensorflow.emitter_table import EMITTERS

DTYPES: dict[ir.DataType, str] = {
    ir.DataType.FLOAT: "tf.float32",
    ir.DataType.DOUBLE: "tf.float64",
    ir.DataType.FLOAT16: "tf.float16",
    ir.DataType.BFLOAT16: "tf.bfloat16",
    ir.DataType.INT8: "tf.int8",
    ir.DataType.INT16: "tf.int16",
    ir.DataType.INT32: "tf.int32",
    ir.DataType.INT64: "tf.int64",
    ir.DataType.UINT8: "tf.uint8",
    ir.DataType.UINT16: "tf.uint16",
    ir.DataType.UINT32: "tf.uint32",
    ir.DataType.UINT64: "tf.uint64",
    ir.DataType.BOOL: "tf.bool",
    ir.DataType.STRING: "tf.string",
}

FORMS = {
    "all_true": "tf.ones_like({x}, dtype=tf.bool)",
    "concat": "tf.concat({parts}, {axis})",
    "erf": "erf",
    "integer": "int({x})",
    "isinf": "tf.math.is_inf",
    "matmul": "matmul({a}, {b})",
    "permute": "tf.transpose({x}, {perm})",
    "relu": "relu",
    "reshape": "tf.reshape({x}, {shape})",
    "reverse_axes": "tf.transpose({x})",
    "scalar": "tf.constant({value})",
    "select": "tf.gather({x}, {place}, axis={axis})",
    "shape": "tf.shape({x}, out_type=tf.int64){part}",
    "size": "tf.size({x}, out_type=tf.int64)",
    "split": "tf.split({x}, {sizes}, {axis})",
    "stack": "tf.stack({parts}, {axis})",
    "tensor": "tf.constant({value}, dtype={dtype})",
    "zeros": "tf.zeros({shape}, dtype={dtype})",
}

TENSORFLOW = FrameworkDescription(
    component="tensorflow",
    title="TensorFlow",
    support="irfuzz.export.tensorflow.support",
    imports=(("", "import tensorflow as tf"),),
    reserved=frozenset({"tf"}),
    dtypes=DTYPES,
    plain=frozenset(DTYPES) - {ir.DataType.BOOL, ir.DataType.STRING},
    forms=FORMS,
    emitters=EMITTERS,
    run=(
        "    outputs = forward(*tensors(arrays, inputs))",
        "    return {name: to_array(value) for name, value in outputs.items()}",
    ),
)
