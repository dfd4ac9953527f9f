"""Valid models that were made to do harm: what they compute cannot be held, or they are wide, deep or long.

``texts()`` has those that ONNX's text format can say, ``hostile()`` and ``built()`` those that take a program, and
``outside()`` those whose weights lie elsewhere. All are small: the largest has a megabyte.
``benchmarks/damaged_models.py`` and ``benchmarks/hostile_commands.py`` run them.
"""

from __future__ import annotations

import os
import tomllib
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
from onnx import TensorProto, helper, numpy_helper

from benchmarks.hostile_sizes import hostile


def texts() -> Iterator[tuple[str, bytes]]:
    """The models of ``hostile_models.toml``."""
    for name, said in tomllib.loads(Path(__file__).with_suffix(".toml").read_text()).items():
        graph = f"({said['inputs']}) => ({said['outputs']}) <{said['tensors']}> {{ {said['nodes']} }}"
        model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["":20]> g {graph}')
        yield name, model.SerializeToString()


def built() -> Iterator[tuple[str, bytes]]:
    """Models that are wide, deep or long, and tensors that are not what they say."""
    for name, make in _BUILT.items():
        model = make()
        yield name, model if isinstance(model, bytes) else model.SerializeToString()


Shape = Sequence[int | str | None]


def _value(name: str, shape: Shape | None, kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def _model(
    nodes: Sequence[onnx.NodeProto],
    tensors: Sequence[onnx.TensorProto] = (),
    inputs: Sequence[onnx.ValueInfoProto] | None = None,
    outputs: Sequence[onnx.ValueInfoProto] | None = None,
    functions: Sequence[onnx.FunctionProto] = (),
) -> onnx.ModelProto:
    given = [_value("x", [1, 3])] if inputs is None else inputs
    made = [_value("y", [None] * 2)] if outputs is None else outputs
    graph = helper.make_graph(nodes, "g", given, made, tensors)
    return helper.make_model(graph, opset_imports=_OPSETS, functions=functions)


_OPSETS = [helper.make_opsetid("", 20), helper.make_opsetid("own", 1)]
_call = helper.make_node


def _inputs(count: int) -> onnx.ModelProto:
    """Each is added to the last."""
    nodes = [_call("Add", [f"s{i}" if i else "x0", f"x{i + 1}"], [f"s{i + 1}"]) for i in range(count)]
    given = [_value(f"x{i}", [1, 3]) for i in range(count + 1)]
    return _model([*nodes, _call("Relu", [f"s{count}"], ["y"])], inputs=given)


def _outputs(count: int) -> onnx.ModelProto:
    nodes = [_call("Relu", ["x"], [f"y{i}"]) for i in range(count)]
    return _model(nodes, outputs=[_value(f"y{i}", [1, 3]) for i in range(count)])


def _chain(count: int) -> onnx.ModelProto:
    nodes = [_call("Relu", [f"v{i}" if i else "x"], [f"v{i + 1}"]) for i in range(count)]
    return _model([*nodes, _call("Relu", [f"v{count}"], ["y"])])


def wide(op: str, count: int) -> onnx.ModelProto:
    """One node that reads the same value so many times."""
    return _model([_call(op, ["x"] * count, ["y"], **({"axis": 1} if op == "Concat" else {}))])


def _names(text: str) -> onnx.ModelProto:
    nodes = [_call("Relu", ["x" + text], ["t" + text], name=text), _call("Relu", ["t" + text], ["y" + text])]
    return _model(nodes, inputs=[_value("x" + text, [1, 3])], outputs=[_value("y" + text, [1, "n" + text])])


def _rank(rank: int) -> onnx.ModelProto:
    return _model([_call("Relu", ["x"], ["y"])], inputs=[_value("x", [1] * rank)], outputs=[_value("y", [1] * rank)])


def _sides(*sides: int | str) -> onnx.ModelProto:
    model = _model([_call("Relu", ["x"], ["y"])])
    for value in (model.graph.input[0], model.graph.output[0]):
        value.CopyFrom(_value(value.name, sides))
    return model


def _nested_type(depth: int) -> onnx.ModelProto:
    kind = helper.make_tensor_type_proto(TensorProto.FLOAT, [1])
    for _ in range(depth):
        kind = helper.make_sequence_type_proto(kind)
    values = [helper.make_value_info(n, kind) for n in ("x", "y")]
    return _model([_call("Identity", ["x"], ["y"])], inputs=values[:1], outputs=values[1:])


def _body(nodes: Sequence[onnx.NodeProto], inputs: Sequence[Any], output: str) -> onnx.GraphProto:
    return helper.make_graph(nodes, "b", inputs, [_value(output, [None, None])])


def _ifs(depth: int) -> onnx.ModelProto:
    """Both branches read the outer value; one holds the next If."""
    inner = _body([_call("Relu", ["x"], ["o0"])], [], "o0")
    for i in range(depth):
        other = _body([_call("Relu", ["x"], [f"p{i}"])], [], f"p{i}")
        node = _call("If", ["c"], [f"o{i + 1}"], then_branch=inner, else_branch=other)
        inner = _body([node], [], f"o{i + 1}")
    node = _call("If", ["c"], ["y"], then_branch=inner, else_branch=_body([_call("Relu", ["x"], ["q"])], [], "q"))
    return _model([node], inputs=[_value("c", [], TensorProto.BOOL), _value("x", [1, 3])])


def _scans(depth: int) -> onnx.ModelProto:
    """Each turn of each runs the next one; all scan the same."""
    body: Any = None
    for i in range(depth):
        inner = _call("Relu", [f"s{i}"], [f"t{i}"]) if body is None else _scan(body, f"s{i}", f"t{i}")
        given = [_value(f"s{i}", [1, 3]), _value(f"e{i}", [3])]
        body = helper.make_graph([inner], "b", given, [_value(f"t{i}", [1, 3])])
    return _model([_scan(body, "x", "y")])


def _scan(body: onnx.GraphProto, state: str, result: str) -> onnx.NodeProto:
    return _call("Scan", [state, "z"], [result], body=body, num_scan_inputs=1)


def _functions(count: int, *, branch: bool = False) -> onnx.ModelProto:
    """Each calls the next once, perhaps in a branch."""
    made = []
    for i in range(count):
        inner = _call(f"f{i - 1}", ["a"], ["b"], domain="own") if i else _call("Relu", ["a"], ["b"])
        nodes = [inner]
        if branch and i:
            inner = _call(f"f{i - 1}", ["a"], ["o"], domain="own")
            true = numpy_helper.from_array(np.ones((), np.bool_), "c")
            branches = [_body([inner], [], "o"), _body([_call("Relu", ["a"], ["p"])], [], "p")]
            nodes = [
                _call("Constant", [], ["c"], value=true),
                _call("If", ["c"], ["b"], then_branch=branches[0], else_branch=branches[1]),
            ]
        made.append(helper.make_function("own", f"f{i}", ["a"], ["b"], nodes, _OPSETS))
    return _model([_call(f"f{count - 1}", ["x"], ["y"], domain="own")], functions=made)


def _recursion_in_a_branch() -> onnx.ModelProto:
    inner = _body([_call("f", ["a"], ["o"], domain="own")], [], "o")
    other = _body([_call("Relu", ["a"], ["p"])], [], "p")
    nodes = [
        _call("Constant", [], ["c"], value=numpy_helper.from_array(np.ones((), np.bool_), "c")),
        _call("If", ["c"], ["b"], then_branch=inner, else_branch=other),
    ]
    made = helper.make_function("own", "f", ["a"], ["b"], nodes, _OPSETS)
    return _model([_call("f", ["x"], ["y"], domain="own")], functions=[made])


def _tensor(dims: Sequence[int], data: bytes = b"", kind: int = TensorProto.FLOAT) -> onnx.ModelProto:
    tensor = onnx.TensorProto(name="w", dims=dims, data_type=kind, raw_data=data)
    return _model([_call("Add", ["x", "w"], ["y"])], [tensor])


def _sparse(dims: Sequence[int], place: int, *, node: bool) -> onnx.ModelProto:
    """One element in a grid that cannot be held, as an initializer or as a Constant."""
    values = onnx.TensorProto(name="w", dims=[1], data_type=TensorProto.FLOAT, float_data=[1.0])
    places = onnx.TensorProto(dims=[1], data_type=TensorProto.INT64, int64_data=[place])
    sparse = onnx.SparseTensorProto(values=values, indices=places, dims=dims)
    if node:
        return _model([_call("Constant", [], ["w"], sparse_value=sparse), _call("Add", ["x", "w"], ["y"])])
    model = _model([_call("Add", ["x", "w"], ["y"])])
    model.graph.sparse_initializer.add().CopyFrom(sparse)
    return model


def _opset(domain: str, version: int) -> onnx.ModelProto:
    model = _model([_call("Relu", ["x"], ["y"])])
    del model.opset_import[:]
    model.opset_import.add(domain="", version=20)
    model.opset_import.add(domain=domain, version=version)
    return model


def _ir_version(version: int) -> onnx.ModelProto:
    model = _model([_call("Relu", ["x"], ["y"])])
    model.ir_version = version
    return model


def _large_picture() -> onnx.ModelProto:
    """A PNG of 60,000 by 60,000 grey pixels in a few kilobytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    side = 60_000
    packer = zlib.compressobj(9)
    rows = b"".join(packer.compress(bytes(side + 1)) for _ in range(200)) + packer.flush()
    head = side.to_bytes(4, "big") * 2 + bytes([8, 0, 0, 0, 0])
    picture = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    tensor = numpy_helper.from_array(np.frombuffer(picture, np.uint8), "p")
    nodes = [
        _call("ImageDecoder", ["p"], ["i"], pixel_format="Grayscale"),
        _call("Cast", ["i"], ["j"], to=1),
        _call("ReduceSum", ["j"], ["k"], keepdims=0),
        _call("Add", ["x", "k"], ["y"]),
    ]
    return _model(nodes, [tensor])


def _doubled_text() -> onnx.ModelProto:
    """Each StringConcat makes the text twice as long; its shape stays."""
    kind = TensorProto.STRING
    nodes = [_call("StringConcat", [f"v{i}" if i else "x"] * 2, [f"v{i + 1}"]) for i in range(40)]
    given, made = _value("x", [1], kind), _value("y", [1], kind)
    return _model([*nodes, _call("Identity", ["v40"], ["y"])], inputs=[given], outputs=[made])


def _tree() -> onnx.ModelProto:
    """Of a tree ensemble whose only node is its own child."""
    node = _call(
        "TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1, nodes_treeids=[0], nodes_nodeids=[0],
        nodes_featureids=[0], nodes_modes=["BRANCH_LEQ"], nodes_values=[0.5], nodes_truenodeids=[0],
        nodes_falsenodeids=[0], target_ids=[0], target_nodeids=[0], target_treeids=[0], target_weights=[1.0],
    )  # fmt: skip
    model = _model([node])
    model.opset_import.add(domain="ai.onnx.ml", version=3)
    return model


_BUILT: Mapping[str, Callable[[], onnx.ModelProto | bytes]] = {
    "three thousand inputs": lambda: _inputs(3_000),
    "ten thousand outputs": lambda: _outputs(10_000),
    "twenty thousand nodes in a row": lambda: _chain(20_000),
    "a Sum of a hundred thousand": lambda: wide("Sum", 100_000),
    "a Concat of a hundred thousand": lambda: wide("Concat", 100_000),
    "names of a hundred thousand letters": lambda: _names("n" * 100_000),
    "names that write on a terminal": lambda: _names("\x1b]0;title\x07\x1b[2J\n\r\t\u202e../../a b"),
    "names that are paths": lambda: _names("/../../../../../etc/passwd"),
    "a rank of two thousand": lambda: _rank(2_000),
    "a rank of sixty-five": lambda: _rank(65),
    "less than nothing": lambda: _sides(-1, -(2**62)),
    "sides of 2^62": lambda: _sides(2**62, 2**62),
    "no element, many sides": lambda: _sides(0, 2**62, 2**62),
    "sequences in sequences": lambda: _nested_type(40),
    "Ifs in one another": lambda: _ifs(30),
    "Scans in one another": lambda: _scans(12),
    "five hundred functions in one another": lambda: _functions(500),
    "two hundred functions in branches of one another": lambda: _functions(200, branch=True),
    "a function that calls itself in a branch": _recursion_in_a_branch,
    "a tensor of 2^40 elements without data": lambda: _tensor([2**20, 2**20]),
    "a tensor of less than nothing": lambda: _tensor([-1, 3], bytes(12)),
    "a tensor of 2^64 elements": lambda: _tensor([2**32, 2**32], bytes(12)),
    "a tensor of no element and many sides": lambda: _tensor([0, 2**62, 2**62]),
    "a tensor of an unknown type": lambda: _tensor([3], bytes(12), 99),
    "a sparse tensor of 2^40 elements": lambda: _sparse([2**20, 2**20], 5, node=False),
    "a sparse Constant of 2^40 elements": lambda: _sparse([2**20, 2**20], 5, node=True),
    "a sparse Constant with a place outside": lambda: _sparse([2, 3], 2**40, node=True),
    "an opset of a domain of 2^62": lambda: _opset("own", 2**62),
    "an opset of less than nothing": lambda: _opset("own", -(2**63)),
    "two opsets of one domain": lambda: _opset("", 13),
    "an IR version of 2^62": lambda: _ir_version(2**62),
    "an IR version of less than nothing": lambda: _ir_version(-5),
    "a picture of 60,000 by 60,000": _large_picture,
    "a text that doubles forty times": _doubled_text,
    "a tree that is its own child": _tree,
}


def outside(folder: Path) -> Iterator[tuple[str, Path]]:
    """Models with weights beside them that lie elsewhere or are not there, written into a folder."""
    (folder / "beside.bin").write_bytes(bytes(12))
    with (folder / "sparse.bin").open("wb") as file:
        file.truncate(18 << 30)
    (folder / "link.bin").symlink_to("/etc/passwd")
    os.mkfifo(folder / "pipe.bin")
    for number, (name, (location, entries, dims)) in enumerate(_OUTSIDE.items()):
        tensor = onnx.TensorProto(name="w", dims=dims, data_type=TensorProto.FLOAT, data_location=1)
        for key, value in {"location": location, **entries}.items():
            tensor.external_data.add(key=key, value=value)
        path = folder / f"outside{number}.onnx"
        path.write_bytes(_model([_call("Add", ["x", "w"], ["y"])], [tensor]).SerializeToString())
        yield name, path


_OUTSIDE: Mapping[str, tuple[str, Mapping[str, str], Sequence[int]]] = {
    "weights in the folder above": ("../../../etc/passwd", {}, [1, 3]),
    "weights at a path of the machine": ("/etc/passwd", {}, [1, 3]),
    "weights behind a link": ("link.bin", {}, [1, 3]),
    "weights in a device": ("/dev/zero", {}, [1, 3]),
    "weights in a pipe": ("pipe.bin", {}, [1, 3]),
    "weights in the folder itself": (".", {}, [1, 3]),
    "weights of no name": ("", {}, [1, 3]),
    "weights that are not there": ("none.bin", {}, [1, 3]),
    "weights with an offset beyond the end": ("beside.bin", {"offset": "4096"}, [1, 3]),
    "weights with an offset below nothing": ("beside.bin", {"offset": "-4"}, [1, 3]),
    "weights with an offset of 2^70": ("beside.bin", {"offset": str(2**70)}, [1, 3]),
    "weights with a length of 2^62": ("beside.bin", {"length": str(2**62)}, [1, 3]),
    "weights with a length that is none": ("beside.bin", {"length": "many"}, [1, 3]),
    "weights of 18 GiB in a file with holes": ("sparse.bin", {}, [3 << 29, 3]),
    "weights of a name of a hundred thousand letters": ("n" * 100_000, {}, [1, 3]),
    "weights of a name with a zero": ("a\0b", {}, [1, 3]),
}


def all_models() -> Mapping[str, bytes]:
    """All but those of ``outside``, by name."""
    return {**hostile(), **dict(texts()), **dict(built())}
