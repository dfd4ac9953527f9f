"""Programs: ONNX models in which every value has a known type and shape."""
