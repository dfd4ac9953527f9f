"""ONNX's version converter, to the next, the previous, the oldest and the newest version, on mutants of models."""

import contextlib

import atheris  # pyright: ignore[reportMissingImports]

with atheris.instrument_imports(include=["onnx"]):
    import onnx
    import onnx.version_converter

from model_mutation import fuzz  # pyright: ignore[reportMissingImports]

NEWEST = onnx.defs.onnx_opset_version()
OLDEST = 7  # what the converter has adapters from


@atheris.instrument_func
def test_one_input(data: bytes) -> None:
    """Converts a model to up to four versions."""
    with contextlib.suppress(Exception):
        model = onnx.load_model_from_string(data)
        (version,) = (entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
        for wanted in sorted({version - 1, version + 1, OLDEST, NEWEST} - {version}):
            if OLDEST <= wanted <= NEWEST:
                with contextlib.suppress(Exception):  # refused; what cannot be caught is a finding
                    onnx.version_converter.convert_version(model, wanted)


if __name__ == "__main__":
    fuzz(test_one_input)
