"""The converters, model-to-model tools, and runtimes that models are deployed to, one line each."""

from __future__ import annotations

from irfuzz.execute.adapters.converter_tools import ToolAdapter
from irfuzz.execute.adapters.declared_limits import DeclaredLimits
from irfuzz.execute.run_types import TargetRole

_ORT = ("onnxruntime", "onnxruntime-gpu")

_INTEGERS = frozenset({"INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64"})

OPTIMIZER_PASSES = (
    "adjust_add", "adjust_slice_and_matmul", "eliminate_common_subexpression", "eliminate_consecutive_idempotent_ops",
    "eliminate_deadend", "eliminate_duplicate_initializer", "eliminate_identity", "eliminate_if_with_const_cond",
    "eliminate_nop_cast", "eliminate_nop_concat", "eliminate_nop_dropout", "eliminate_nop_expand",
    "eliminate_nop_flatten", "eliminate_nop_monotone_argmax", "eliminate_nop_pad", "eliminate_nop_reshape",
    "eliminate_nop_split", "eliminate_nop_transpose", "eliminate_nop_with_unit", "eliminate_shape_gather",
    "eliminate_shape_op", "eliminate_slice_after_shape", "eliminate_unused_initializer",
    "extract_constant_to_initializer", "fuse_add_bias_into_conv", "fuse_bn_into_conv", "fuse_concat_into_reshape",
    "fuse_consecutive_concats", "fuse_consecutive_log_softmax", "fuse_consecutive_reduce_unsqueeze",
    "fuse_consecutive_slices", "fuse_consecutive_squeezes", "fuse_consecutive_transposes",
    "fuse_consecutive_unsqueezes", "fuse_matmul_add_bias_into_gemm", "fuse_pad_into_conv", "fuse_pad_into_pool",
    "fuse_qkv", "fuse_transpose_into_gemm", "replace_einsum_with_matmul", "rewrite_where", "set_unique_name_for_nodes",
)  # fmt: skip
"""Passes of onnxoptimizer 0.4.2 that keep what a model computes, and its inputs and outputs.

Left out are ``nop``, those that cut the model in two (``split_init``, ``split_predict``), give it other inputs
(``rewrite_input_dtype``) or names (``rename_input_output``), and ``lift_lexical_references``, which writes an attribute
that only Caffe2 read.
"""

QUANTIZATION_WAYS = ("qdq", "qdq-per-channel", "qoperator", "dynamic", "matmul-nbits")
"""What onnxruntime.quantization makes: calibrated, with pairs of QuantizeLinear and DequantizeLinear or with operators
on integers; with scales that are found when it runs; with weights of 4 bits.
"""

NCNN_OPERATORS = (
    "Abs", "Acos", "Add", "Asin", "Atan", "AveragePool", "BatchNormalization", "Ceil", "Celu", "Clip", "Concat",
    "Constant", "Conv", "ConvTranspose", "Cos", "DepthToSpace", "Div", "Dropout", "Elu", "Exp", "Flatten", "Floor",
    "GRU", "Gelu", "Gemm", "GlobalAveragePool", "GlobalMaxPool", "GroupNormalization", "HardSigmoid", "HardSwish",
    "InstanceNormalization", "LRN", "LSTM", "LayerNormalization", "LeakyRelu", "Log", "LogSoftmax", "MatMul", "Max",
    "MaxPool", "Min", "Mish", "Mul", "Neg", "PRelu", "Pad", "Pow", "RMSNormalization", "RNN", "Reciprocal", "ReduceL1",
    "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum",
    "ReduceSumSquare", "Relu", "Reshape", "Resize", "Selu", "Shrink", "Sigmoid", "Sin", "Slice", "Softmax", "Softplus",
    "Split", "Sqrt", "Squeeze", "Sub", "Sum", "Tan", "Tanh", "Transpose", "Unsqueeze",
)  # fmt: skip
"""What pnnx's README lists under "Supported ONNX operator status" as exported to ncnn (October 2026)."""

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
    ToolAdapter(
        component="onnxoptimizer",
        tool="onnx_optimizer",
        package="onnxoptimizer",
        distributions=("onnxoptimizer",),
        variants={
            "all": {},
            "fixed-point": {"fixed_point": True},
            **{name: {"only": name} for name in OPTIMIZER_PASSES},
        },
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
        component="onnxruntime-quantization",
        tool="quantization",
        folder="quantizers",
        package="onnxruntime",
        distributions=_ORT,
        variants={way: {"way": way} for way in QUANTIZATION_WAYS},
        preload=("onnxruntime", "onnxruntime.quantization", "onnx"),
        gives="values",
        limits=DeclaredLimits(types=_INTEGERS | {"FLOAT", "FLOAT16", "BOOL"}, tensors_only=True),
        # Its own file holds the numbers to the bound of quantisation, on which no rounding has any bearing.
        approximate=True,
    ),
    ToolAdapter(
        component="onnxconverter-float16",
        tool="float16",
        package="onnxconverter_common",
        distributions=("onnxconverter-common",),
        approximate=True,
    ),
    # Runtimes that models are deployed to.
    ToolAdapter(
        component="opencv",
        tool="opencv",
        package="cv2",
        distributions=("opencv-python-headless", "opencv-python"),
        variants={"": {}, "classic": {"engine": "classic"}},
        preload=("cv2", "onnx"),
        role=TargetRole.RUNTIME,
        gives="values",
        before="",
        # It answers float16 and double in single, scalars as vectors, loses the upper half of int64 in many layers, and
        # has no Mat without elements.
        limits=DeclaredLimits(
            types=_INTEGERS | {"FLOAT", "BOOL"}, tensors_only=True, scalars=False, empty=False, int64_as_int32=True
        ),
        env_more={"OPENCV_LOG_LEVEL": "SILENT"},
        only_named=True,
    ),
    ToolAdapter(
        component="tract",
        tool="tract_engine",
        package="tract",
        distributions=("tract",),
        preload=("tract", "onnx"),
        role=TargetRole.RUNTIME,
        gives="values",
        before="",
        limits=DeclaredLimits(types=_INTEGERS | {"FLOAT", "DOUBLE", "FLOAT16", "BOOL"}, tensors_only=True),
        only_named=True,
    ),
    ToolAdapter(
        component="mnn",
        tool="mnn",
        package="MNN",
        distributions=("mnn",),
        preload=("MNN", "onnx"),
        role=TargetRole.RUNTIME,
        gives="values",
        before="",
        # It has single precision and 32-bit integers; int64 and bool are those, as its documentation says.
        limits=DeclaredLimits(
            types=frozenset({"FLOAT", "INT32", "INT64", "BOOL"}), tensors_only=True, empty=False, int64_as_int32=True
        ),
        only_named=True,
    ),
    ToolAdapter(
        component="ncnn",
        tool="ncnn_engine",
        folder="deployed",
        package="ncnn",
        distributions=("ncnn",),
        needs=("pnnx",),
        preload=("ncnn", "onnx"),
        role=TargetRole.RUNTIME,
        gives="values",
        before="",
        # pnnx's README lists operators; ncnn's layers read the bits of a Mat as float, whose axes are four and a batch.
        limits=DeclaredLimits(
            types=frozenset({"FLOAT"}),
            tensors_only=True,
            scalars=False,
            empty=False,
            operators=frozenset(NCNN_OPERATORS),
            free_constants=True,
            most_axes=5,
        ),
        slow=frozenset({""}),  # pnnx, a program of its own, takes a third of a second
        only_named=True,
    ),
    ToolAdapter(
        component="litert",
        tool="litert",
        folder="deployed",
        package="ai_edge_litert",
        distributions=("ai-edge-litert",),
        needs=("tensorflow",),
        variants={kernels: {"kernels": kernels} for kernels in ("xnnpack", "builtin")},
        preload=("tensorflow", "ai_edge_litert.interpreter"),
        role=TargetRole.CONVERTER,
        takes="tensorflow",
        gives="values",
        before="tensorflow:eager",
        slow=frozenset({"xnnpack", "builtin"}),
        limits=DeclaredLimits(tensors_only=True),
        env_more={"TF_NUM_INTEROP_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1"},
        only_named=True,
    ),
    ToolAdapter(
        component="onnx2keras",
        tool="onnx2keras",
        folder="deployed",
        package="onnx2keras",
        distributions=("onnx2keras",),
        needs=("tensorflow",),
        preload=("tensorflow", "keras", "onnx"),
        role=TargetRole.CONVERTER,
        gives="values",
        before="tensorflow:eager",
        slow=frozenset({""}),
        limits=DeclaredLimits(tensors_only=True),
        # Its README names this switch: without it TensorFlow has no convolution with the channels first.
        env_more={"TF_NUM_INTEROP_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1", "TF_ENABLE_ONEDNN_OPTS": "1"},
        only_named=True,
    ),
    ToolAdapter(
        component="executorch",
        tool="executorch",
        folder="deployed",
        package="executorch",
        distributions=("executorch",),
        needs=("torch",),
        variants={backend: {"backend": backend} for backend in ("xnnpack", "portable")},
        preload=("torch", "executorch.exir", "executorch.runtime"),
        role=TargetRole.CONVERTER,
        takes="torch",
        gives="values",
        before="torch:eager",
        slow=frozenset({"xnnpack", "portable"}),
        limits=DeclaredLimits(tensors_only=True),
        only_named=True,
    ),
    ToolAdapter(
        component="coremltools",
        tool="coreml",
        folder="deployed",
        package="coremltools",
        distributions=("coremltools",),
        needs=("torch",),
        preload=("torch", "coremltools"),
        role=TargetRole.CONVERTER,
        takes="torch",
        gives="values",
        before="torch:eager",
        slow=frozenset({""}),
        limits=DeclaredLimits(tensors_only=True),
        only_named=True,
    ),
    ToolAdapter(
        component="webgpu",
        tool="webgpu",
        package="onnxruntime",
        distributions=("onnxruntime-webgpu",),
        variants={"": {}, "disabled": {"level": "ORT_DISABLE_ALL"}},
        preload=("onnxruntime", "onnx"),
        role=TargetRole.RUNTIME,
        gives="values",
        before="",
        # Its wheel has onnxruntime's own files, so irfuzz's environment cannot have both.
        own_environment=True,
        cache="MESA_SHADER_CACHE_DIR",
        env_more={"MESA_SHADER_CACHE_MAX_SIZE": "256M"},
        only_named=True,
    ),
    ToolAdapter(
        component="onnxruntime-openvino",
        tool="ort_openvino",
        folder="deployed",
        package="onnxruntime",
        distributions=("onnxruntime-openvino",),
        variants={"": {}, "disabled": {"level": "ORT_DISABLE_ALL"}},
        preload=("onnxruntime", "onnx"),
        role=TargetRole.RUNTIME,
        gives="values",
        before="",
        # As OpenVINO's documentation says of its plug-in for processors: other types are computed in narrower ones.
        limits=DeclaredLimits(
            types=_INTEGERS - {"UINT32", "UINT64"} | {"FLOAT", "BOOL"}, tensors_only=True, int64_as_int32=True
        ),
        slow=frozenset({"", "disabled"}),
        own_environment=True,
        only_named=True,
    ),
    ToolAdapter(
        component="tinygrad",
        tool="tinygrad_engine",
        folder="deployed",
        package="tinygrad",
        distributions=("tinygrad",),
        preload=("tinygrad",),
        role=TargetRole.RUNTIME,
        gives="values",
        before="",
        limits=DeclaredLimits(types=_INTEGERS | {"FLOAT", "DOUBLE", "FLOAT16", "BOOL"}, tensors_only=True),
        slow=frozenset({""}),
        only_named=True,
    ),
    ToolAdapter(
        component="tvm",
        tool="tvm_engine",
        folder="deployed",
        package="tvm",
        distributions=("apache-tvm",),
        preload=("tvm", "tvm.relax.frontend.onnx", "onnx"),
        role=TargetRole.RUNTIME,
        gives="values",
        before="",
        limits=DeclaredLimits(types=_INTEGERS | {"FLOAT", "DOUBLE", "FLOAT16", "BOOL"}, tensors_only=True),
        env_more={"TVM_NUM_THREADS": "1"},
        slow=frozenset({""}),
        only_named=True,
    ),
    *(
        ToolAdapter(
            component=name,
            tool=name.replace("-", "_"),
            package="",
            distributions=(name,),
            variants={"": {}, "disabled": {"level": "disabled"}},
            preload=(),
            role=TargetRole.RUNTIME,
            gives="values",
            before="",
            # JavaScript has no bfloat16 and no types of 8 or 4 bits but integers, and the packages give tensors only.
            limits=DeclaredLimits(
                types=_INTEGERS | {"FLOAT", "DOUBLE", "FLOAT16", "BOOL", "STRING"}, tensors_only=True
            ),
            env_more={"IRFUZZ_NODE_PACKAGE": name},
            only_named=True,
            own_environment=True,
            npm=True,
        )
        for name in ("onnxruntime-node", "onnxruntime-web")
    ),
)
