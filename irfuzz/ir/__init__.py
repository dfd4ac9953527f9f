"""ONNX enters and leaves; in between every value of a program has a known type and shape."""
