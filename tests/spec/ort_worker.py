"""Runs length-prefixed ONNX models from stdin on ONNXRuntime; one JSON line a model on stdout."""

import json
import os
import struct
import sys

import onnxruntime as ort


def main():
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    ort.set_default_logger_severity(4)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    while header := sys.stdin.buffer.read(8):
        data = sys.stdin.buffer.read(struct.unpack("<Q", header)[0])
        answer = {"stage": "load"}
        try:
            session = ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
            answer["stage"] = "run"
            outputs = session.run_with_ort_values(None, {})
            answer = {"stage": "done", "shapes": [list(o.shape()) if o.is_tensor() else None for o in outputs]}
        except Exception as e:
            answer["error"] = f"{type(e).__name__}: {e}"
        answers.write(json.dumps(answer) + "\n")


main()
