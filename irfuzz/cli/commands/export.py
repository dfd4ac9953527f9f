"""``irfuzz export``: writes a model as ONNX or as the source of a framework's module."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from irfuzz.cli.model_reading_and_output_checks import file_to_write, one_model, writable_folder
from irfuzz.cli.parser import Parser, place
from irfuzz.cli.progress_display import ProgressLine

if TYPE_CHECKING:
    from irfuzz.ir.program import Program

NAME = "export"
ABOUT = """Write a model as ONNX, as source of a PyTorch, TensorFlow, Keras, NumPy or JAX module, or as a SavedModel.

torch, tensorflow, keras, numpy, jax: OUT/model.py and OUT/weights.npz. The module imports only numpy and the framework,
has one line an operator, and computes exactly what ONNX defines; `run(arrays, inputs)` takes and gives arrays by name.
keras: its `functional` builds a keras.Model of layers; sizes have to be known. savedmodel: OUT, with the signature
`serving_default`; TensorFlow traces it, so that no size may depend on values. What a framework cannot express exactly
is refused, with the operator and the reason. onnx: one file, OUT; whatever MODEL was, and opset 17 where a front end
chose. Exit code: 0, or 2 where the input or a flag is wrong or something cannot be expressed."""
EXAMPLES = """examples:
  irfuzz export model.onnx --to torch -o exported
  irfuzz export model.onnx --to savedmodel -o saved
  irfuzz export model.onnx --to numpy -o exported
  irfuzz export model.onnx --to onnx -o same.onnx"""


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", type=place, help="A model, of any kind that `irfuzz fuzz` takes.")
    add("--to", metavar="FORM", required=True, choices=tuple(WRITERS), help=f"One of {', '.join(WRITERS)}.")
    add("-o", "--out", metavar="OUT", type=place, required=True, help="File (onnx) or folder (all others).")


def run(args: argparse.Namespace) -> int:
    path, program = one_model(args.model)
    if args.to == "onnx":
        file_to_write(args.out, "--out", model=path)
    with ProgressLine(f"writing {args.out} for {args.to}"):
        told = WRITERS[args.to](program, args.out)
    print(told)
    return 0


def _onnx(program: Program, out: Path) -> str:
    from irfuzz.frontends.onnx_file import save_file

    save_file(program, out)
    return f"{len(program.nodes())} nodes in {out}"


def _module(framework: str) -> Callable[[Program, Path], str]:
    """A writer of the source of a framework's module, and of its arrays."""

    def write(program: Program, out: Path) -> str:
        from irfuzz.export.lowerings import LOWERINGS
        from irfuzz.export.module_file_writing import write_module

        source = LOWERINGS[framework](program)
        module, weights = write_module(writable_folder(out, "--out"), source.source, source.arrays)
        return (
            f"{len(program.nodes())} nodes in {module}, {len(source.arrays)} arrays in {weights}; "
            f"inputs: {', '.join(source.inputs) or 'none'}; outputs: {', '.join(source.outputs)}"
        )

    return write


def _savedmodel(program: Program, out: Path) -> str:
    from irfuzz.execute.adapters.savedmodel_export import save_savedmodel

    inputs = save_savedmodel(program, writable_folder(out, "--out"))
    named = ", ".join(name if name == place else f"{name} as {place}" for name, place in inputs.items())
    outputs = ", ".join(value.name or "" for value in program.graph.outputs)
    return f"{len(program.nodes())} nodes in {out}; inputs: {named or 'none'}; outputs: {outputs}"


WRITERS: Mapping[str, Callable[[Program, Path], str]] = {
    "onnx": _onnx,
    "torch": _module("torch"),
    "tensorflow": _module("tensorflow"),
    "keras": _module("keras"),
    "numpy": _module("numpy"),
    "jax": _module("jax"),
    "savedmodel": _savedmodel,
}
"""What a model can be written as."""
