"""The text of generated modules."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from irfuzz.errors import InternalError, Unsupported
from irfuzz.export.array.source_conventions import ARRAY
from irfuzz.export.source.emitter_context import Code, literal
from irfuzz.export.source.python_identifiers import PythonIdentifiers
from irfuzz.export.source.support_function_source import pieces, support_text
from irfuzz.export.tensorflow.source_conventions import TENSORFLOW
from irfuzz.export.torch.source_conventions import TORCH
from irfuzz.ir.program import Program
from tests.export.frameworks import lower, lower_model

pytestmark = [pytest.mark.unit, pytest.mark.usefixtures("framework")]
DESCRIBED = {"torch": TORCH, "tensorflow": TENSORFLOW, "numpy": ARRAY}

SMALL = """
<ir_version: 8, opset_import: ["" : 17]>
agraph (float[N, 3] x) => (float[N, 2] y) <float[3, 2] w = {1, 2, 3, 4, 5, 6}, float[2] b = {1, -1}>
{
    h = MatMul(x, w)
    lambda = Add(h, b)
    y = Relu(lambda)
}
"""


def parsed(text: str) -> ir.Model:
    return ir.from_proto(onnx.parser.parse_model(text))


def body(source: str) -> list[str]:
    """Lines of ``forward`` without its signature and docstring."""
    text = source[source.index("def forward") :].split("\n\n\n", 1)[0]
    return [line.strip() for line in text.splitlines()[2:]]


def test_a_small_model_becomes_one_line_a_node(framework: str) -> None:
    model = onnx.shape_inference.infer_shapes(onnx.parser.parse_model(SMALL))
    assert body(lower(Program.from_proto(model)).source) == [
        'x = inputs["x"]',
        'w = weights["w"]  # [3, 2]',
        'b = weights["b"]  # [2]',
        "h = x @ w  # MatMul" if framework == "torch" else "h = matmul(x, w)  # MatMul",
        "lambda_2 = h + b  # Add",
        "y = torch.relu(lambda_2)  # Relu" if framework == "torch" else "y = relu(lambda_2)  # Relu",
        'return {"y": y}',
    ]


def test_the_source_is_the_same_each_time() -> None:
    assert lower_model(parsed(SMALL)).source == lower_model(parsed(SMALL)).source


def test_modules_import_only_numpy_and_the_framework(framework: str, root: Path) -> None:
    for path in (root / "seeds" / f"{name}.onnx" for name in ("lenet5", "lstm", "qcnn", "resnet", "transformer")):
        tree = ast.parse(lower(Program.from_bytes(path.read_bytes())).source)
        imported = {
            name.split(".")[0]
            for node in ast.walk(tree)
            for name in (
                [a.name for a in node.names] if isinstance(node, ast.Import) else
                [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            )
        }  # fmt: skip
        extra = {"torch": {"ml_dtypes"}, "numpy": {"itertools", "ml_dtypes"}}.get(framework, set())
        assert imported <= {"math", "numpy", framework} | extra, path.name


def test_a_module_carries_only_what_it_uses(framework: str) -> None:
    tree = ast.parse(lower_model(parsed(SMALL)).source)
    defined = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
    # Without declared types the element types of inner values are unknown: the general functions are used.
    always = {"to_tensor", "to_array", "forward", "tensors", "run"}
    if framework == "torch":
        assert defined == always | {"add", "relu", "bits", "unbits"}
    else:
        # ``+`` of NumPy's is that of every element type.
        assert always | {"relu", "matmul"} | ({"add"} if framework == "tensorflow" else set()) <= defined
        assert not defined & {"conv", "pad", "softmax", "gather"}


def test_every_support_function_is_documented_and_used(framework: str) -> None:
    found = pieces(DESCRIBED[framework].support)
    undocumented = [
        name
        for name, piece in found.items()
        if piece.text.startswith("def ") and ast.get_docstring(ast.parse(piece.text).body[0]) is None  # type: ignore[arg-type]
    ]
    assert undocumented == []
    root = Path(__file__).parents[2] / "irfuzz" / "export"
    emitters = "".join(p.read_text() for one in ("*/*.py", "source/emitters/*.py") for p in root.glob(one))
    forms = "".join(DESCRIBED[framework].forms.values())
    used = set().union(*(p.uses for p in found.values()))
    unused = [name for name in found if name not in used and f'"{name}"' not in emitters and f"{name}(" not in forms]
    assert unused == []


def test_support_text_brings_what_a_function_uses(framework: str) -> None:
    package = DESCRIBED[framework].support
    text = "\n".join(support_text(["global_max_pool", "max_pool"], package))
    inner = ("pool_geometry", "pool_count", "window_pads")
    for name in ("def max_pool(", "def lowest(", *(f"def {function}(" for function in inner)):
        assert name in text
    assert "def average_pool(" not in text
    with pytest.raises(InternalError, match="no support function 'nonsense'"):
        support_text(["nonsense"], package)


def test_names_resemble_onnx_names_and_never_collide() -> None:
    names = PythonIdentifiers(["conv", "torch"])
    given = [names.of(n) for n in ("/a/b.1", "a_b_1", "class", "1", "conv", "torch", "", "é")]
    assert given[:3] == ["a_b_1", "a_b_1_2", "class_2"]
    assert len(set(given)) == len(given)
    assert all(n.isidentifier() and n not in ("conv", "torch") for n in given)
    assert names.of("/a/b.1") == given[0]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ((1, 2), "(1, 2)"),
        ((1,), "(1,)"),
        (float("inf"), 'float("inf")'),
        (0.1, "0.1"),
        ('a"b\\', '"a\\"b\\\\"'),
        ("a\r\u2028é", '"a\\r\\u2028é"'),
        (Code("x"), "x"),
        ([Code("x"), None], "[x, None]"),
    ],
)
def test_literals(value: object, text: str) -> None:
    assert literal(value) == text


def test_the_table_names_only_operators_that_onnx_has(framework: str) -> None:
    known = {(s.domain, s.name) for s in onnx.defs.get_all_schemas_with_history()}
    assert [key for key in DESCRIBED[framework].emitters if key not in known] == []


@pytest.mark.parametrize(
    ("text", "op", "why"),
    [
        ('g (float8e5m2[2] x) => (float8e5m2[2] y) { y = Identity(x) }', "input 'x'", "FLOAT8E5M2"),
        ("g (float[2] x) => (float8e4m3fn[2] y) { y = Cast<to = 17>(x) }", "Cast", "FLOAT8E4M3FN"),
        ("g (float[1,1,4,4] x, float[1,5] r) => (float[1,1,1,1] y) { y = MaxRoiPool<pooled_shape = [1, 1]>(x, r) }",
         "MaxRoiPool", "no lowering"),
        ("g (int32[1,1,4,4] x, float[1,2,2,2] w) => (int32[1,1,2,2] y) { y = GridSample(x, w) }",
         "GridSample", "sampling rounds INT32"),
        ("g (float[1,1,2,2,2,2] x, float[1,1,1,1,1,1] w) => (float[1,1,2,2,2,2] y) { y = Conv(x, w) }",
         "Conv", "1 to 3 spatial axes"),
        ("g (float[1,1,5] x) => (float[1,1,2] y) { y = MaxPool<kernel_shape=[2], auto_pad=\"VALID\", ceil_mode=1>(x) }",
         "MaxPool", "ceil_mode"),
    ],
)  # fmt: skip
def test_what_has_no_exact_form_is_refused(framework: str, text: str, op: str, why: str) -> None:
    if framework == "numpy" and op == "Conv":
        pytest.skip("NumPy's convolution has any number of axes")
    with pytest.raises(Unsupported, match=why) as caught:
        lower_model(parsed(f'<ir_version: 9, opset_import: ["" : 20]> {text}'))
    assert caught.value.component == framework
    assert caught.value.op == op


def test_an_overridable_initializer_is_read_from_the_inputs_where_given() -> None:
    lowered = lower_model(
        parsed("""
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[2] x, int64[1] s = {2}) => (float[S] y) { y = Reshape(x, s) }
    """)
    )
    assert lowered.inputs == ("x",)
    module: dict = {}
    exec(lowered.source, module)
    x = np.array([1, 2], np.float32)
    assert module["run"](lowered.arrays, {"x": x})["y"].shape == (2,)
    with pytest.raises(Exception, match=r"(?i)shape"):
        module["run"](lowered.arrays, {"x": x, "s": np.array([3])})


def test_bfloat16_constants_are_kept_as_bit_patterns() -> None:
    model = parsed("""
        <ir_version: 8, opset_import: ["" : 17]>
        g (bfloat16[2] x) => (bfloat16[2] y) <bfloat16[2] w = {16256, 16384}> { y = Mul(x, w) }
    """)
    lowered = lower_model(model)
    assert lowered.arrays["w"].dtype == np.uint16
    assert lowered.arrays["w"].tolist() == [0x3F80, 0x4000]


def test_model_local_functions_are_inlined() -> None:
    lowered = lower_model(
        parsed("""
        <ir_version: 8, opset_import: ["" : 17, "local" : 1]>
        g (float[2] x) => (float[2] y) { y = local.twice(x) }
        <domain: "local", opset_import: ["" : 17]>
        twice (a) => (b) { b = Add(a, a) }
    """)
    )
    module: dict = {}
    exec(lowered.source, module)
    assert module["run"](lowered.arrays, {"x": np.array([1, 2], np.float32)})["y"].tolist() == [2, 4]


@pytest.mark.parametrize("name", ["a\rraise SystemExit", "a\nb", '"""', "\\", "\x00", "é\u2028x", "\n\n\nimport os"])
def test_hostile_names_do_not_become_code(name: str) -> None:
    model = parsed(SMALL)
    model.graph.name = name
    for node in model.graph:
        node.name = name
    model.graph.inputs[0].name = name
    lowered = lower_model(model)
    module: dict = {}
    exec(lowered.source, module)
    x = np.array([[1, 0, 0]], np.float32)
    assert module["run"](lowered.arrays, {name: x})["y"].tolist() == [[2, 1]]
    assert len(ast.parse(lowered.source).body) == len(ast.parse(lower_model(parsed(SMALL)).source).body)
