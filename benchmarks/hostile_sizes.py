"""Models whose functions or sizes grow beyond all bounds, and bytes that are no model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from irfuzz.ir.serialization.protobuf_field_encoding import block, block_tag

MINIMAL = helper.make_model(
    helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
    ),
    opset_imports=[helper.make_opsetid("", 17)],
).SerializeToString()


def hostile() -> dict[str, bytes]:
    """Models that were made to do harm, by name."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    found: dict[str, bytes] = {}

    def keep(
        name: str, nodes: Sequence[Any], constants: Sequence[Any] = (), functions: Sequence[Any] = (), rank: int = 2
    ) -> None:
        kind = TensorProto.INT64 if nodes[-1].op_type == "Range" else TensorProto.FLOAT
        y = helper.make_tensor_value_info("y", kind, [None] * rank)
        graph = helper.make_graph(nodes, "g", [x], [y], constants)
        found[name] = helper.make_model(graph, opset_imports=opsets, functions=functions).SerializeToString()

    def function(name: str, nodes: Sequence[Any]) -> Any:
        return helper.make_function("own", name, ["a"], ["b"], nodes, opsets)

    def sizes(*numbers: int) -> Any:
        return numpy_helper.from_array(np.array(numbers, np.int64), "s")

    call = helper.make_node
    itself = function("f", [call("f", ["a"], ["b"], domain="own")])
    keep("a function that calls itself", [call("f", ["x"], ["y"], domain="own")], functions=[itself])
    one, other = (function(n, [call(m, ["a"], ["b"], domain="own")]) for n, m in ("fg", "gf"))
    keep("two functions that call each other", [call("f", ["x"], ["y"], domain="own")], functions=[one, other])
    twice = [
        function(
            f"f{i}",
            [call("Relu", ["a"], ["b"])]
            if not i
            else [call(f"f{i - 1}", ["a"], ["c"], domain="own"), call(f"f{i - 1}", ["c"], ["b"], domain="own")],
        )
        for i in range(41)
    ]
    keep("forty doublings", [call("f40", ["x"], ["y"], domain="own")], functions=twice)
    for op in ("Expand", "Tile", "Reshape"):
        keep(f"{op} to many gigabytes", [call(op, ["x", "s"], ["y"])], [sizes(1_600_000_000, 3)])
        keep(f"{op} to 2^62", [call(op, ["x", "s"], ["y"])], [sizes(2**62, 3)])
    keep("Tile beyond int64", [call("Tile", ["x", "s"], ["y"])], [sizes(1, 2**62)])
    keep("ConstantOfShape of many gigabytes", [call("ConstantOfShape", ["s"], ["y"])], [sizes(70_000, 70_000)])
    keep("Pad to many gigabytes", [call("Pad", ["x", "s"], ["y"])], [sizes(0, 0, 70_000, 70_000)])
    keep(
        "Range of 2^40",
        [call("Range", ["s", "t", "u"], ["y"])],
        [numpy_helper.from_array(np.array(v, np.int64), n) for n, v in (("s", 0), ("t", 2**40), ("u", 1))],
        rank=1,
    )
    places, values = np.array([1, 2]), np.array([0.0, 1.0], np.float32)
    given = [sizes(2**33), numpy_helper.from_array(places, "i"), numpy_helper.from_array(values, "v")]
    keep("OneHot of 2^33", [call("OneHot", ["i", "s", "v"], ["y"])], given)
    grown = [call("Concat", [f"v{i}"] * 8, [f"v{i + 1}"], axis=0) for i in range(14)]
    keep("eightfold Concat, fourteen times", [call("Identity", ["x"], ["v0"]), *grown, call("Relu", ["v14"], ["y"])])
    _keep_more_that_cannot_be_held(keep, found)
    deep: Any = None
    for _ in range(150):
        inner = (
            [call("Identity", ["x"], ["o"])]
            if deep is None
            else [call("If", ["c"], ["o"], then_branch=deep, else_branch=deep)]
        )
        if deep is not None and len(deep.SerializeToString()) > 10_000:
            break
        deep = helper.make_graph(inner, "b", [], [helper.make_tensor_value_info("o", TensorProto.FLOAT, [None, None])])
    keep(
        "branches in branches",
        [call("If", ["c"], ["y"], then_branch=deep, else_branch=deep)],
        [numpy_helper.from_array(np.ones((), bool), "c")],
    )
    model = onnx.load_model_from_string(found["Expand to 2^62"])
    model.opset_import[0].version = 2**62
    found["an opset of 2^62"] = model.SerializeToString()
    found["nothing"] = b""
    found["rubbish"] = bytes(range(256)) * 20
    nested = b""
    for _ in range(3000):  # a graph in an attribute in a node in a graph ...
        for number in (6, 5, 1):
            nested = block(block_tag(number), nested)
    found["three thousand graphs in one another"] = b"\x08\x08" + block(block_tag(7), nested)
    return found


def _keep_more_that_cannot_be_held(keep: Callable[..., None], found: dict[str, bytes]) -> None:
    """Sizes that only a run knows, bodies that grow, and what is just small enough to be tried."""
    call = helper.make_node

    def numbers(name: str, *values: int) -> Any:
        return numpy_helper.from_array(np.array(values, np.int64), name)

    def body(nodes: Sequence[Any], outputs: Sequence[str]) -> Any:
        kinds = {"i": TensorProto.INT64, "c": TensorProto.BOOL}
        given = [helper.make_tensor_value_info(n, kinds[n], []) for n in ("i", "c")]
        shapes: dict[str, list[Any]] = {"c_": []}
        made = [
            helper.make_tensor_value_info(
                n, TensorProto.BOOL if n == "c_" else TensorProto.FLOAT, shapes.get(n, [None, None])
            )
            for n in outputs
        ]
        carried = helper.make_tensor_value_info("v", TensorProto.FLOAT, [None, None])
        return helper.make_graph([call("Identity", ["c"], ["c_"]), *nodes], "body", [*given, carried], made)

    trips = numpy_helper.from_array(np.array(2**40, np.int64), "n")
    loop = body([call("Identity", ["v"], ["w"]), call("Identity", ["v"], ["k"])], ["c_", "w", "k"])
    keep("Loop of 2^40 trips", [call("Loop", ["n", "", "x"], ["z", "y"], body=loop)], [trips], rank=3)
    forty = numpy_helper.from_array(np.array(40, np.int64), "n")
    doubled = body([call("Concat", ["v", "v"], ["w"], axis=0)], ["c_", "w"])
    keep("Loop that doubles forty times", [call("Loop", ["n", "", "x"], ["y"], body=doubled)], [forty])
    keep("Resize to many gigabytes", [call("Resize", ["x", "", "", "s"], ["y"])], [numbers("s", 60_000, 90_000)])
    sizes = [call("Mul", ["s", "s"], ["t"]), call("Expand", ["x", "t"], ["y"])]
    keep("Expand to sizes that a run computes", sizes, [numbers("s", 70_000, 1)])
    element = helper.make_tensor_value_info("e", TensorProto.FLOAT, [3])
    scanned = helper.make_graph(
        [call("Relu", ["e"], ["f"])], "body", [element], [helper.make_tensor_value_info("f", TensorProto.FLOAT, [3])]
    )
    rows = [call("Expand", ["x", "s"], ["t"]), call("Scan", ["t"], ["y"], body=scanned, num_scan_inputs=1)]
    keep("Scan of 2^33 rows", rows, [numbers("s", 2**33, 3)])
    for bits in (26, 28):
        # Held by a component, and in each of its answers.
        keep(f"Expand to 3 times 2^{bits} elements", [call("Expand", ["x", "s"], ["y"])], [numbers("s", 2**bits, 3)])
    huge = onnx.load_model_from_string(MINIMAL)
    for side, value in zip((2**20, 2**20), (huge.graph.input[0], huge.graph.output[0]), strict=True):
        del value.type.tensor_type.shape.dim[:]
        for _ in range(2):
            value.type.tensor_type.shape.dim.add().dim_value = side
    found["an input of 2^40 elements"] = huge.SerializeToString()
    grid = [call("Expand", ["x", "s"], ["t"]), call("ReduceSum", ["t"], ["y"], keepdims=1)]
    keep("a sum of 3 times 2^28 elements", grid, [numbers("s", 2**28, 3)])
