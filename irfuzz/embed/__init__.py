"""irfuzz inside other fuzzers and tests, as a source of ONNX models that their bytes or draws steer."""
