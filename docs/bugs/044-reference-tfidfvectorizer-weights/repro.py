"""onnx 1.23.2, reference evaluator: TfIdfVectorizer takes the weights of other n-grams

Seen with reference 1.23.2, onnxruntime 1.31.1; needs numpy, onnx. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: TfIdfVectorizer-9, `weights`: "The i-th element in weights is the weight of the i-th n-gram in pool"; `ngram_indexes` says where
in the output that one goes.
  https://onnx.ai/onnx/operators/onnx__TfIdfVectorizer.html
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx import helper

inputs = {'x': np.array([10], 'int64')}
nodes = [helper.make_node('TfIdfVectorizer', ['x'], ['y'], mode='TFIDF', min_gram_length=1, max_gram_length=1, max_skip_count=0, ngram_counts=[0], ngram_indexes=[1, 0], pool_int64s=[10, 11], weights=[1.0, 2.0])]
sides = [helper.make_tensor_value_info('x', onnx.TensorProto.INT64, [1])], [helper.make_tensor_value_info('y', onnx.TensorProto.FLOAT, [2])]
graph = helper.make_graph(nodes, 'g', *sides)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8).SerializeToString()
run = lambda: ReferenceEvaluator(model).run(['y'], inputs)[0]
got = np.asarray(run())[1]
expected = 1.0
print("expected", expected, "got", got)
shows = not (abs(float(got) - float(expected)) <= 1e-05 or got != got and expected != expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
