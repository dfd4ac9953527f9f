"""ONNX's shape inference, strict and lenient, on mutants of models."""

import contextlib

import atheris  # pyright: ignore[reportMissingImports]

with atheris.instrument_imports(include=["onnx"]):
    import onnx
    import onnx.shape_inference

from model_mutation import fuzz  # pyright: ignore[reportMissingImports]


@atheris.instrument_func
def test_one_input(data: bytes) -> None:
    """Infers twice: strict inference stops at the first error, where lenient inference goes on."""
    for strict in (True, False):
        with contextlib.suppress(Exception):  # refused; what cannot be caught is a finding
            onnx.shape_inference.infer_shapes(data, check_type=strict, strict_mode=strict, data_prop=True)


if __name__ == "__main__":
    fuzz(test_one_input)
