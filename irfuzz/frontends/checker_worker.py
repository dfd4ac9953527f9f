"""Serialised models enter, onnx's own verdict on them leaves; runs in a process of its own, without irfuzz."""

from __future__ import annotations

import onnx
import onnx.checker
import onnx.parser


def handle(request: dict, values: list) -> tuple[dict, list]:
    """Do ``request["task"]`` to the model in ``values[0]``.

    ``weigh``: only read it, to see whether it can be. ``translate``: read it in the text format
    ``request["format"]`` and return it serialised. ``check``: ``onnx.checker`` with shape inference.
    """
    data = bytes(values[0])
    task = request["task"]
    if task == "translate":
        try:
            model = onnx.load_model_from_string(data, format=request["format"])
        except onnx.parser.ParseError as error:  # its text is bytes
            words = (part.decode(errors="replace") if isinstance(part, bytes) else str(part) for part in error.args)
            raise ValueError(" ".join(" ".join(words).split())) from error
        return {}, [model.SerializeToString()]
    if task == "weigh":
        onnx.ModelProto.FromString(data)
        return {}, []
    try:
        onnx.checker.check_model(data, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, RuntimeError, ValueError) as error:
        return {"reason": str(error)}, []
    return {}, []
