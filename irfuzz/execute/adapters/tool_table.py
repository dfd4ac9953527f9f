"""The converters and model-to-model tools, one line each."""

from __future__ import annotations

from irfuzz.execute.adapters.converter_tools import ToolAdapter
from irfuzz.execute.run_types import TargetRole

_ORT = ("onnxruntime", "onnxruntime-gpu")

TOOL_ADAPTERS: tuple[ToolAdapter, ...] = (
    # Converters.
    ToolAdapter(
        component="onnx2torch",
        tool="onnx2torch",
        package="onnx2torch",
        distributions=("onnx2torch",),
        preload=("torch", "onnx"),
        role=TargetRole.CONVERTER,
        gives="values",
        before="torch:eager",
    ),
    ToolAdapter(
        component="torch-onnx",
        tool="torch_onnx",
        package="torch",
        distributions=("torch",),
        variants={"dynamo": {"dynamo": True}, "script": {"dynamo": False}},
        preload=("torch", "torch.onnx", "onnx"),
        role=TargetRole.CONVERTER,
        takes="torch",
        slow=frozenset({"dynamo"}),
        before="torch:eager",
    ),
    ToolAdapter(
        component="tf2onnx",
        tool="tf2onnx",
        package="tf2onnx",
        distributions=("tf2onnx",),
        preload=("tensorflow", "tf2onnx", "onnx"),
        role=TargetRole.CONVERTER,
        takes="tensorflow",
        before="tensorflow:eager",
    ),
    ToolAdapter(
        component="keras-onnx",
        tool="keras_onnx",
        package="keras",
        distributions=("keras",),
        needs=("tensorflow", "tf2onnx"),
        variants={way: {"way": way} for way in ("from-keras", "export", "saved-model")},
        preload=("tensorflow", "keras", "tf2onnx", "onnx"),
        role=TargetRole.CONVERTER,
        takes="keras",
        before="keras:tensorflow",
        slow=frozenset({"from-keras", "export", "saved-model"}),
    ),
    # Model-to-model tools.
    ToolAdapter(
        component="onnx-version-converter",
        tool="version_converter",
        package="onnx",
        distributions=("onnx",),
        variants={"up": {"to": 21, "beyond": 25}, "down": {"to": 16, "beyond": 15}},
    ),
    ToolAdapter(
        component="onnx-compose",
        tool="compose",
        package="onnx",
        distributions=("onnx",),
        variants={"prefix": {"do": "prefix"}, "merge": {"do": "merge"}},
    ),
    ToolAdapter(
        component="onnx-inliner",
        tool="inliner",
        package="onnx",
        distributions=("onnx",),
        variants={"local": {"do": "local"}, "schema": {"do": "schema"}},
    ),
    ToolAdapter(
        component="onnx-shape-inference",
        tool="shape_inference",
        package="onnx",
        distributions=("onnx",),
        variants={"plain": {"data_prop": False}, "data": {"data_prop": True}},
        gives="types",
    ),
    ToolAdapter(component="onnxsim", tool="onnxsim", package="onnxsim", distributions=("onnxsim",)),
    ToolAdapter(component="onnxslim", tool="onnxslim", package="onnxslim", distributions=("onnxslim",)),
    ToolAdapter(
        component="onnxscript",
        tool="onnxscript",
        package="onnxscript",
        distributions=("onnxscript",),
        variants={"optimize": {"do": "optimize"}, "rewrite": {"do": "rewrite"}},
    ),
    ToolAdapter(
        component="onnx-graphsurgeon",
        tool="graphsurgeon",
        package="onnx_graphsurgeon",
        distributions=("onnx-graphsurgeon",),
        variants={"cleanup": {"do": "cleanup"}, "fold": {"do": "fold"}},
    ),
    ToolAdapter(
        component="onnxruntime-saved",
        tool="ort_saved",
        package="onnxruntime",
        distributions=_ORT,
        variants={level: {"level": level} for level in ("basic", "extended", "all")},
    ),
    ToolAdapter(
        component="onnxruntime-transformers",
        tool="ort_transformers",
        package="onnxruntime",
        distributions=_ORT,
        variants={kind: {"model_type": kind} for kind in ("bert", "gpt2", "bart")},
    ),
    ToolAdapter(
        component="onnxruntime-shapes",
        tool="symbolic_shapes",
        package="onnxruntime",
        distributions=_ORT,
        gives="types",
    ),
    ToolAdapter(
        component="onnxruntime-float16",
        tool="ort_float16",
        package="onnxruntime",
        distributions=_ORT,
        approximate=True,
    ),
    ToolAdapter(
        component="onnxconverter-float16",
        tool="float16",
        package="onnxconverter_common",
        distributions=("onnxconverter-common",),
        approximate=True,
    ),
)
