"""irfuzz inside of other fuzzers and tests: bytes, or another engine's draws, enter and ONNX models leave."""
