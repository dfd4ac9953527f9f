"""What is said of inputs agrees with the model and with itself, or the message quotes what does not."""

from __future__ import annotations

import onnx
import pytest

from irfuzz.errors import UsageError
from irfuzz.generate.graph_inputs.user_input_claims import Claim, Claims, dimension_names, refuse_unknown, resolve
from irfuzz.generate.input_spec import InputSpec
from irfuzz.ir.input_domain import MOST_ELEMENTS
from irfuzz.ir.program import Program

pytestmark = pytest.mark.unit

TEXT = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N,3,H,W] image, float[?,H] extra, uint8[N] bytes, string[2] words, seq(float[K]) list) => (float[N,3,H,W] y)
<float[2] w = {1, 2}> { y = Relu(image) }"""


@pytest.fixture(scope="module")
def program() -> Program:
    return Program.from_proto(onnx.parser.parse_model(TEXT))


def shape(name: str, *sizes: int) -> Claims:
    return Claims(shapes=[Claim(name, sizes, f"--input-shapes {name}")])


def size(**sizes: int) -> Claims:
    return Claims(sizes=[Claim(name, number, f"--size {name}={number}") for name, number in sizes.items()])


def ends(name: str, low: float, high: float) -> Claims:
    return Claims(ranges=[Claim(name, (low, high), f"--range {name}")])


def test_nothing_said_is_nothing(program: Program) -> None:
    assert resolve(program, []) == InputSpec()
    assert not resolve(program, [Claims()])


def test_a_shape_says_the_sizes_of_its_dimensions(program: Program) -> None:
    spec = resolve(program, [shape("image", 1, 3, 48, 160)])
    assert spec == InputSpec(shapes={"image": (1, 3, 48, 160)}, sizes={"N": 1, "H": 48, "W": 160})
    assert resolve(program, [shape("extra", 7, 2)]) == InputSpec(shapes={"extra": (7, 2)}, sizes={"H": 2})


def test_names_that_the_model_does_not_have_say_nothing(program: Program) -> None:
    layer = Claims(
        [Claim("other", (1,), "s")], [Claim("Q", 3, "d"), Claim("H", 5, "d")], [Claim("other", (0.0, 1.0), "r")]
    )
    assert resolve(program, [layer]) == InputSpec(sizes={"H": 5})


def test_dimensions_of_lists_have_names_too(program: Program) -> None:
    assert dimension_names(program) == ["N", "H", "W", "K"]
    assert resolve(program, [size(K=4)]) == InputSpec(sizes={"K": 4})


def test_a_later_layer_wins_size_by_size(program: Program) -> None:
    spec = resolve(program, [shape("image", 1, 3, 48, 160), size(W=32)])
    assert spec == InputSpec(shapes={"image": (1, 3, 48, 32)}, sizes={"N": 1, "H": 48, "W": 32})
    spec = resolve(program, [size(H=7), shape("extra", 2, 9)])
    assert spec == InputSpec(shapes={"extra": (2, 9)}, sizes={"H": 9})
    spec = resolve(program, [ends("image", 0, 1), ends("image", 2, 3)])
    assert spec.ranges == {"image": (2.0, 3.0)}


@pytest.mark.parametrize(
    ("layer", "says"),
    [
        (shape("image", 1, 3, 48), "--input-shapes image: input 'image' has rank 4 ([N,3,H,W]), got 3 sizes"),
        (shape("image", 1, 4, 4, 4), "axis 1 of input 'image' is fixed at 3 ([N,3,H,W]), got 4"),
        (shape("image", 0, 3, 4, 4), "expected sizes of at least 1, got 0"),
        (shape("list", 1), "input 'list' is no tensor, so it has no shape"),
        (size(H=0), "--size H=0: expected sizes of at least 1, got 0"),
        (
            Claims(shape("image", 1, 3, 5, 5).shapes, size(H=4).sizes),
            "--input-shapes image: dimension 'H' is 5 here and 4 in --size H=4",
        ),
        (
            Claims([*shape("image", 1, 3, 5, 5).shapes, *shape("extra", 1, 6).shapes]),
            "--input-shapes extra: dimension 'H' is 6 here and 5 in --input-shapes image",
        ),
        (
            Claims([*shape("extra", 1, 6).shapes, *shape("extra", 2, 6).shapes]),
            "axis 0 of 'extra' is 2 here and 1 in",
        ),
        (ends("words", 0, 1), "--range words: input 'words' is STRING; a range is for real numbers"),
        (ends("list", 0, 1), "input 'list' is no tensor; a range is for real numbers"),
        (ends("bytes", 256, 300), "[256, 300] holds no whole number of UINT8 (0 to 255)"),
        (ends("bytes", 0.2, 0.8), "[0.2, 0.8] holds no whole number of UINT8"),
        (ends("image", 1e39, 1e40), "[1e+39, 1e+40] holds no finite number of FLOAT"),
    ],
)
def test_what_contradicts_is_quoted(program: Program, layer: Claims, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolve(program, [layer])
    assert says in str(caught.value)


def test_what_only_just_agrees_is_taken(program: Program) -> None:
    agreeing = Claims(shape("image", 1, 3, 4, 5).shapes, size(H=4).sizes)
    assert resolve(program, [agreeing]).sizes == {"N": 1, "H": 4, "W": 5}
    assert resolve(program, [size(H=1)]).sizes == {"H": 1}
    assert resolve(program, [ends("bytes", 255, 300)]).ranges == {"bytes": (255.0, 255.0)}
    assert resolve(program, [ends("bytes", 0.2, 1.0)]).ranges == {"bytes": (0.2, 1.0)}
    most = resolve(program, [ends("image", -float("inf"), float("inf"))]).ranges["image"]
    assert most == (pytest.approx(-3.4028235e38), pytest.approx(3.4028235e38))


def test_an_input_may_be_as_large_as_is_made_and_no_larger(program: Program) -> None:
    assert resolve(program, [shape("extra", MOST_ELEMENTS, 1)]).shapes == {"extra": (MOST_ELEMENTS, 1)}
    with pytest.raises(UsageError, match=f"{MOST_ELEMENTS + 1} elements; at most {MOST_ELEMENTS} are made"):
        resolve(program, [shape("extra", MOST_ELEMENTS + 1, 1)])


def test_an_input_of_unknown_rank_may_have_any() -> None:
    proto = onnx.parser.parse_model(TEXT)
    proto.graph.input[0].type.tensor_type.ClearField("shape")
    program = Program.from_proto(proto)
    assert resolve(program, [shape("image", 4, 5)]).shapes == {"image": (4, 5)}
    assert resolve(program, [shape("image", 4), shape("image", 5, 6)]).shapes == {"image": (5, 6)}


@pytest.mark.parametrize(
    ("layer", "says"),
    [
        (shape("imag", 1), "no such input 'imag'; the model has 'image', 'extra', 'bytes', 'words', 'list'"),
        (shape("w", 2), "no such input 'w'"),
        (ends("w", 0, 1), "no such input 'w'"),
        (size(Q=1), "no such dimension 'Q'; the model has 'N', 'H', 'W', 'K'"),
    ],
)
def test_an_unknown_name_lists_the_known_ones(program: Program, layer: Claims, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        refuse_unknown(layer, [program])
    assert says in str(caught.value)


def test_a_name_that_one_of_several_models_has_is_known(program: Program) -> None:
    other = Program.from_proto(
        onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) {y = Neg(x)}')
    )
    refuse_unknown(Claims(shape("x", 2).shapes, size(H=1).sizes), [program, other])
    refuse_unknown(ends("w", 0, 1), [program], weights=True)
    with pytest.raises(UsageError, match=r"the models have 'image', .*'x'"):
        refuse_unknown(shape("z", 2), [program, other])
    with pytest.raises(UsageError, match="has no dimension with a name; --input-shapes sets sizes without a name"):
        refuse_unknown(size(H=1), [other])


def test_many_names_are_not_all_listed() -> None:
    inputs = ", ".join(f"float[2] x{i}" for i in range(21))
    text = f'<ir_version: 8, opset_import: ["" : 17]> g ({inputs}) => (float[2] y) {{ y = Neg(x0) }}'
    program = Program.from_proto(onnx.parser.parse_model(text))
    with pytest.raises(UsageError, match=r"'x19', and 1 more$"):
        refuse_unknown(shape("z", 2), [program])
