"""ONNX models, by a seed, that use many optional fields; they are well formed but compute nothing."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import onnx
from onnx import TensorProto

TYPED_FIELD = {
    "float_data": (TensorProto.FLOAT, TensorProto.COMPLEX64),
    "double_data": (TensorProto.DOUBLE, TensorProto.COMPLEX128),
    "int64_data": (TensorProto.INT64,),
    "uint64_data": (TensorProto.UINT32, TensorProto.UINT64),
}
BITS: dict[int, int] = {
    TensorProto.FLOAT: 32,
    TensorProto.UINT8: 8,
    TensorProto.INT8: 8,
    TensorProto.UINT16: 16,
    TensorProto.INT16: 16,
    TensorProto.INT32: 32,
    TensorProto.INT64: 64,
    TensorProto.BOOL: 8,
    TensorProto.FLOAT16: 16,
    TensorProto.DOUBLE: 64,
    TensorProto.UINT32: 32,
    TensorProto.UINT64: 64,
    TensorProto.COMPLEX64: 64,
    TensorProto.COMPLEX128: 128,
    TensorProto.BFLOAT16: 16,
    TensorProto.FLOAT8E4M3FN: 8,
    TensorProto.FLOAT8E4M3FNUZ: 8,
    TensorProto.FLOAT8E5M2: 8,
    TensorProto.FLOAT8E5M2FNUZ: 8,
    TensorProto.UINT4: 4,
    TensorProto.INT4: 4,
    TensorProto.FLOAT4E2M1: 4,
    TensorProto.FLOAT8E8M0: 8,
    TensorProto.UINT2: 2,
    TensorProto.INT2: 2,
    TensorProto.FLOAT6E2M3: 6,
    TensorProto.FLOAT6E3M2: 6,
}
"""Width of an element of each numeric type (comments of TensorProto.DataType in onnx.proto)."""

KINDS = [k for k in onnx.AttributeProto.AttributeType.values() if k != onnx.AttributeProto.UNDEFINED]


def numeric_tensor(rng: random.Random, dtype: int, name: str, *, typed: bool) -> tuple[TensorProto, bytes]:
    """A tensor of random bits, and those bits as ``raw_data`` holds them."""
    dims = [rng.randint(0, 4) for _ in range(rng.randint(0, 3))]
    count = int(np.prod(dims))
    bits = BITS[dtype]
    raw = bytearray(rng.randbytes((count * bits + 7) // 8))
    spare = len(raw) * 8 - count * bits
    if spare:
        raw[-1] &= 0xFF >> spare  # padding is zero
    if dtype == TensorProto.BOOL:
        raw = bytearray(b & 1 for b in raw)
    tensor = TensorProto(name=name, dims=dims, data_type=dtype)
    if not typed:
        tensor.raw_data = bytes(raw)
        return tensor, bytes(raw)
    for field, dtypes in TYPED_FIELD.items():
        if dtype in dtypes:
            wide = {"float_data": "<f4", "double_data": "<f8", "int64_data": "<i8", "uint64_data": "<u8"}[field]
            if field in ("float_data", "double_data"):  # a signalling NaN does not survive Python's float
                values = np.arange(len(raw) // int(wide[-1]), dtype=wide) - 2.5
                raw = bytearray(values.tobytes())
            else:
                values = np.frombuffer(raw, dtype="<u4" if dtype == TensorProto.UINT32 else wide)
            getattr(tensor, field).extend(values.tolist())
            return tensor, bytes(raw)
    if bits == 6:
        stream = int.from_bytes(raw, "little")
        tensor.int32_data.extend((stream >> 6 * i) & 63 for i in range(count))
    else:
        signed = dtype in (TensorProto.INT8, TensorProto.INT16, TensorProto.INT32)
        width = max(bits, 8) // 8
        tensor.int32_data.extend(np.frombuffer(raw, dtype=f"<{'i' if signed else 'u'}{width}").tolist())
    return tensor, bytes(raw)


class Synthesis:
    """Builds one model; ``maybe`` decides which optional fields it uses."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.serial = 0

    def maybe(self) -> bool:
        return self.rng.random() < 0.5

    def word(self, stem: str) -> str:
        self.serial += 1
        return f"{stem}_{self.serial}"

    def strings(self, into: Callable[..., object]) -> None:
        for _ in range(self.rng.choice([0, 0, 1, 2])):
            into(key=self.word("key é"), value=self.word("value"))

    def model(self) -> onnx.ModelProto:
        rng = self.rng
        model = onnx.ModelProto(ir_version=rng.randint(3, 14))
        for name in ("producer_name", "producer_version", "domain", "doc_string"):
            if self.maybe():
                setattr(model, name, self.word(name))
        if self.maybe():
            model.model_version = rng.choice([1, 2**62, -1])
        imports = ["", *(self.word("domain") for _ in range(rng.randint(0, 2)))]
        for domain in rng.sample(imports, len(imports)):
            model.opset_import.add(domain=domain, version=rng.randint(1, 27))
        self.strings(model.metadata_props.add)
        for _ in range(rng.randint(0, 2)):
            config = model.configuration.add(name=self.word("config"), num_devices=2)
            if self.maybe():
                config.device.extend(["CPU:0", "GPU:1"])
        self.configurations = [c.name for c in model.configuration] or ["unknown config"]
        self.graph(model.graph, 0, [])
        for _ in range(rng.randint(0, 2)):
            self.function(model.functions.add())
        if self.maybe():
            info = model.training_info.add()
            self.graph(info.initialization, 1, [])
            self.graph(info.algorithm, 1, [])
            self.strings(info.initialization_binding.add)
            self.strings(info.update_binding.add)
        return model

    def tensor(self, name: str) -> TensorProto:
        rng = self.rng
        if rng.random() < 0.1:
            tensor = TensorProto(name=name, dims=[2], data_type=TensorProto.STRING, string_data=[b"a\0", b"\xff"])
        elif rng.random() < 0.1:
            tensor = TensorProto(name=name, dims=[2, 3], data_type=TensorProto.FLOAT)
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in (("location", "weights.bin"), ("offset", "4096"), ("length", "24"), ("checksum", "ab")):
                tensor.external_data.add(key=key, value=value)
        else:
            tensor, _ = numeric_tensor(rng, rng.choice(list(BITS)), name, typed=self.maybe())
            if self.maybe():
                tensor.data_location = TensorProto.DEFAULT
            if rng.random() < 0.2:
                tensor.segment.begin = 0
                tensor.segment.end = int(np.prod(tensor.dims))
        if self.maybe():
            tensor.doc_string = self.word("doc")
        self.strings(tensor.metadata_props.add)
        return tensor

    def sparse(self, into: onnx.SparseTensorProto, name: str) -> None:
        flat = self.maybe()
        into.dims.extend([3, 4])
        into.values.CopyFrom(TensorProto(name=name, dims=[2], data_type=TensorProto.FLOAT, float_data=[1, 2]))
        into.indices.data_type = TensorProto.INT64
        into.indices.dims.extend([2] if flat else [2, 2])
        into.indices.int64_data.extend([1, 7] if flat else [0, 1, 2, 3])

    def shape(self, into: onnx.TensorShapeProto) -> None:
        into.SetInParent()
        for _ in range(self.rng.randint(0, 4)):
            dim = into.dim.add()
            match self.rng.randint(0, 3):
                case 0:
                    dim.dim_value = self.rng.choice([0, 1, 7, -1, 2**40])
                case 1:
                    dim.dim_param = self.rng.choice(["N", "2*N + 1", " odd name ", "é"])
                case _:
                    pass
            if self.maybe():
                dim.denotation = "DATA_CHANNEL"

    def type(self, into: onnx.TypeProto, depth: int = 0) -> None:
        if self.maybe():
            into.denotation = self.word("denotation")
        kind = self.rng.choice(["tensor", "tensor", "sequence", "map", "optional", "sparse", "opaque", "nothing"])
        if depth > 2:
            kind = "tensor"
        match kind:
            case "tensor" | "sparse":
                tensor = into.tensor_type if kind == "tensor" else into.sparse_tensor_type
                tensor.SetInParent()
                if self.rng.random() < 0.9:
                    tensor.elem_type = self.rng.choice(TensorProto.DataType.values())
                if self.maybe():
                    self.shape(tensor.shape)
            case "sequence":
                into.sequence_type.SetInParent()
                if self.rng.random() < 0.9:
                    self.type(into.sequence_type.elem_type, depth + 1)
            case "optional":
                into.optional_type.SetInParent()
                if self.rng.random() < 0.9:
                    self.type(into.optional_type.elem_type, depth + 1)
            case "map":
                into.map_type.key_type = TensorProto.INT64
                self.type(into.map_type.value_type, depth + 1)
            case "opaque":
                into.opaque_type.domain = self.word("domain")
                into.opaque_type.name = self.word("opaque")
            case _:
                into.SetInParent()

    def value_info(self, into: onnx.ValueInfoProto, name: str) -> None:
        into.name = name
        if self.rng.random() < 0.9:
            self.type(into.type)
        if self.maybe():
            into.doc_string = self.word("doc")
        self.strings(into.metadata_props.add)

    def attribute(self, into: onnx.AttributeProto, depth: int, visible: list[str], *, function: bool) -> None:
        rng = self.rng
        into.name = self.word("attr")
        if self.maybe():
            into.doc_string = self.word("doc")
        kind = rng.choice(KINDS)
        graphs = (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)
        if depth > 1 and kind in graphs:
            kind = onnx.AttributeProto.INT
        into.type = kind
        if function and self.maybe() and kind not in graphs:  # a graph cannot be a parameter
            into.ref_attr_name = self.word("parameter")
            return
        match onnx.AttributeProto.AttributeType.Name(kind):
            case "FLOAT":
                into.f = rng.choice([0.0, -0.0, 1e-45, 3.25, float("inf"), float("nan")])
            case "INT":
                into.i = rng.choice([0, -1, 2**63 - 1, -(2**63)])
            case "STRING":
                into.s = rng.choice([b"", b"SAME_UPPER", b"\xff\xfe", "é".encode()])
            case "TENSOR":
                into.t.CopyFrom(self.tensor(self.word("tensor")))
            case "GRAPH":
                self.graph(into.g, depth + 1, visible)
            case "SPARSE_TENSOR":
                self.sparse(into.sparse_tensor, self.word("sparse") if self.maybe() else "")
            case "TYPE_PROTO":
                self.type(into.tp)
            case "FLOATS":
                into.floats.extend([0.5, -0.0, float("nan")][: rng.randint(0, 3)])
            case "INTS":
                into.ints.extend([0, -(2**63), 5][: rng.randint(0, 3)])
            case "STRINGS":
                into.strings.extend([b"a", b"", b"\xff"][: rng.randint(0, 3)])
            case "TENSORS":
                for _ in range(rng.randint(0, 2)):
                    into.tensors.add().CopyFrom(self.tensor(""))
            case "GRAPHS":
                for _ in range(rng.randint(0, 2)):
                    self.graph(into.graphs.add(), depth + 1, visible)
            case "SPARSE_TENSORS":
                for _ in range(rng.randint(0, 2)):
                    self.sparse(into.sparse_tensors.add(), "")
            case "TYPE_PROTOS":
                for _ in range(rng.randint(0, 2)):
                    self.type(into.type_protos.add())

    def placement(self, into: onnx.NodeDeviceConfigurationProto, visible: list[str]) -> None:
        into.configuration_id = self.rng.choice(self.configurations)
        if self.maybe():
            into.pipeline_stage = self.rng.choice([0, 3])
        for _ in range(self.rng.randint(0, 2) if visible else 0):
            spec = into.sharding_spec.add(tensor_name=self.rng.choice(visible), device=[0, -1])
            spec.index_to_device_group_map.add(key=-1, value=[0, 1])
            dim = spec.sharded_dim.add(axis=self.rng.choice([0, -1]))
            for size in self.rng.sample(["value", "param", "none"], 2):
                simple = dim.simple_sharding.add(num_shards=2)
                if size == "value":
                    simple.dim_value = 4
                elif size == "param":
                    simple.dim_param = "N"

    def node(self, into: onnx.NodeProto, depth: int, visible: list[str], *, function: bool) -> list[str]:
        rng = self.rng
        into.op_type = self.word("Op")
        for name in ("name", "domain", "overload", "doc_string"):
            if self.maybe():
                setattr(into, name, self.word(name))
        into.input.extend(rng.choice([*visible, ""]) for _ in range(rng.randint(0, 3)))
        for _ in range(rng.randint(0, 3)):
            self.attribute(into.attribute.add(), depth, visible, function=function)
        outputs = [self.word("v") if rng.random() < 0.8 else "" for _ in range(rng.randint(1, 3))]
        into.output.extend(outputs)
        self.strings(into.metadata_props.add)
        named = [name for name in outputs if name]
        if self.maybe():
            self.placement(into.device_configurations.add(), visible + named)
        return named

    def graph(self, into: onnx.GraphProto, depth: int, outer: list[str]) -> None:
        rng = self.rng
        into.SetInParent()
        for name in ("name", "doc_string"):
            if self.maybe():
                setattr(into, name, self.word(name))
        inputs = [self.word("in") for _ in range(rng.randint(0, 2))]
        for name in inputs:
            self.value_info(into.input.add(), name)
        stored = [self.word("w") for _ in range(rng.randint(0, 3))] + [n for n in inputs if rng.random() < 0.3]
        for name in stored:
            into.initializer.add().CopyFrom(self.tensor(name))
        if self.maybe():
            stored.append(self.word("sparse"))
            self.sparse(into.sparse_initializer.add(), stored[-1])
        own = list(dict.fromkeys(inputs + stored))
        computed: list[str] = []
        for _ in range(rng.randint(0, 4) if depth else rng.randint(2, 6)):
            computed += self.node(into.node.add(), depth, outer + own + computed, function=False)
        described = [n for n in own + computed if rng.random() < 0.5] + [self.word("of nothing")]
        if self.maybe():
            described.append(described[0])
        for name in described:
            self.value_info(into.value_info.add(), name)
        for name in rng.sample(own + computed, min(2, len(own + computed))):
            self.value_info(into.output.add(), name)
        for name in [*rng.sample(own + computed, min(1, len(own + computed))), "of nothing"]:
            note = into.quantization_annotation.add(tensor_name=name)
            note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value=self.word("scale"))
        self.strings(into.metadata_props.add)

    def function(self, into: onnx.FunctionProto) -> None:
        rng = self.rng
        into.name = self.word("Function")
        into.domain = self.word("domain")
        for name in ("overload", "doc_string"):
            if self.maybe():
                setattr(into, name, self.word(name))
        inputs = [self.word("in") for _ in range(rng.randint(0, 2))]
        into.input.extend(inputs)
        into.attribute.extend(self.word("parameter") for _ in range(rng.randint(0, 2)))
        for _ in range(rng.randint(0, 2)):
            self.attribute(into.attribute_proto.add(), 1, [], function=False)
        into.opset_import.add(domain="", version=rng.randint(1, 27))
        computed: list[str] = []
        for _ in range(rng.randint(1, 4)):
            computed += self.node(into.node.add(), 1, inputs + computed, function=True)
        into.output.extend(rng.sample(inputs + computed, min(2, len(inputs + computed))))
        for name in [*inputs, *computed, self.word("of nothing")]:
            if self.maybe():
                self.value_info(into.value_info.add(), name)
        self.strings(into.metadata_props.add)


def synthetic_model(seed: int) -> onnx.ModelProto:
    """The model of this seed."""
    return Synthesis(seed).model()
