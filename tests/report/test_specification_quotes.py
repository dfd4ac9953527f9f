"""Sections of ONNX's specification: whose are named, and which quotations are about what a model uses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx.parser
import pytest

from irfuzz.report import specification_quotes
from irfuzz.report.specification_quotes import MOST, SpecSection, sections_of

pytestmark = pytest.mark.unit


def sections(nodes: str, opset: int = 17) -> list[SpecSection]:
    head = f'<ir_version: 8, opset_import: ["" : {opset}, "own" : 1]>'
    return sections_of(onnx.parser.parse_model(f"{head} g (float[1,1,4] x) => (y) {{ {nodes} }}"))


def names(nodes: str, opset: int = 17) -> list[str]:
    return [section.name for section in sections(nodes, opset)]


@pytest.mark.parametrize(
    ("nodes", "opset", "found"),
    [
        ("y = Relu(x)", 17, ["Relu-14"]),
        ("y = Relu(x)", 13, ["Relu-13"]),
        ("y = Identity(x)", 17, ["Identity-16"]),
        # What carries values alone is named if there is nothing else.
        ("a = Identity(x)  y = Relu(a)", 17, ["Relu-14"]),
        ("a = Relu(x)  y = Relu(a)", 17, ["Relu-14"]),
        ("a = own.Mystery(x)  y = Relu(a)", 17, ["Relu-14"]),
        ("y = own.Mystery(x)", 17, []),
        ("y = Mystery(x)", 17, []),
        ("y = Gelu(x)", 19, []),
        ("y = Gelu(x)", 20, ["Gelu-20"]),
        ("a = Relu(x)  b = Tanh(a)  y = Exp(b)", 17, ["Relu-14", "Tanh-13", "Exp-13"]),
        ("a = Relu(x)  b = Tanh(a)  c = Exp(b)  y = Log(c)", 17, ["Relu-14", "Tanh-13", "Exp-13"]),
    ],
)
def test_whose_sections_are_named(nodes: str, opset: int, found: list[str]) -> None:
    assert names(nodes, opset) == found
    assert MOST == 3


@pytest.fixture
def noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of operators in which the test writes what is quoted."""
    (tmp_path / "ai.onnx").mkdir()
    monkeypatch.setattr(specification_quotes, "ops_dir", lambda: tmp_path)
    specification_quotes._noted.cache_clear()
    yield tmp_path / "ai.onnx"
    specification_quotes._noted.cache_clear()


QUOTES = """op = "MaxPool"
# "of all versions here" (MaxPool-8); "of the attribute pads" (MaxPool-11, pads), and more
  # "of the attribute kernel_shape" (MaxPool-11, kernel_shape)
# "of the description itself" (MaxPool-1, description)
# "of all the inputs here" (MaxPool-1, inputs)
# "of one of the inputs" (MaxPool-1, X)
# "of a later version here" (MaxPool-22)
# "of another operator here" (AveragePool-1)
# "of no use" (MaxPool-1); "1234567" (MaxPool-1)
x = "not a comment at all" # (MaxPool-1)
"""


def quoted(nodes: str) -> list[str]:
    (section,) = sections(nodes)
    about, *others = section.quotes
    assert about.startswith("MaxPool consumes an input tensor X and applies max pooling")
    return others


def test_quotations_are_about_what_is_used(noted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (noted / "MaxPool.toml").write_text(QUOTES)
    assert specification_quotes._noted("MaxPool")[:2] == (
        ("of all versions here", 8, ""),
        ("of the attribute pads", 11, "pads"),
    )
    monkeypatch.setattr(specification_quotes, "MOST", 99)
    set_ = quoted("y = MaxPool<kernel_shape = [1]>(x)")
    assert set_ == [
        "of all versions here",
        "kernel_shape: of the attribute kernel_shape",
        "description: of the description itself",
        "inputs: of all the inputs here",
        "of no use",
        "kernel_shape: The size of the kernel along each axis.",
    ]
    assert "pads: of the attribute pads" in quoted("y = MaxPool<kernel_shape = [1], pads = [0, 0]>(x)")
    assert not any("one of the inputs" in quote or "later" in quote for quote in set_)


def test_few_quotations_and_all_that_is_said_of_attributes(noted: Path) -> None:
    (noted / "MaxPool.toml").write_text(QUOTES)
    assert quoted("y = MaxPool<kernel_shape = [1]>(x)") == [
        "of all versions here",
        "kernel_shape: of the attribute kernel_shape",
        "description: of the description itself",
    ]
    assert len(quoted("y = MaxPool<kernel_shape = [1], pads = [0, 0]>(x)")) == 4


def test_operators_of_which_nothing_is_quoted(noted: Path) -> None:
    assert quoted("y = MaxPool<kernel_shape = [1]>(x)") == ["kernel_shape: The size of the kernel along each axis."]


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("", ""),
        ("One.  Two.", "One."),
        ("One\n  line: two", "One line:"),
        ("a.b c", "a.b c"),
        ("x" * 300, "x" * 300),
        ("x" * 301, "x" * 300),
    ],
)
def test_the_first_sentence(text: str, short: str) -> None:
    assert specification_quotes._short(text) == short
