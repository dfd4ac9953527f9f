"""ONNX's checker on mutants of models: it may refuse a model, and must not crash or hang."""

import contextlib

import atheris  # pyright: ignore[reportMissingImports]

with atheris.instrument_imports(include=["onnx"]):
    import onnx.checker

from model_mutation import fuzz  # pyright: ignore[reportMissingImports]


@atheris.instrument_func
def test_one_input(data: bytes) -> None:
    """Checks a model; its inference is a target of its own."""
    with contextlib.suppress(Exception):  # refused; what cannot be caught is a finding
        onnx.checker.check_model(data, full_check=False)


if __name__ == "__main__":
    fuzz(test_one_input)
