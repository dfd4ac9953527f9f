"""tf2onnx 1.17.0: the square of a transpose that moves an axis of length 1 is not transposed

Seen with tf2onnx 1.17.0, onnxruntime 1.32.0, tensorflow 2.21.0; needs numpy, onnxruntime, tensorflow, tf2onnx. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: `tf.transpose`: "The returned tensor's dimension i will correspond to the input dimension perm[i]". The model below is the same in
ONNX.
"""
import os, sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
import numpy as np
import onnxruntime as ort
import tensorflow as tf
import tf2onnx

inputs = {'x': np.array([[[1, 2]]], 'float32')}

@tf.function(input_signature=[tf.TensorSpec([1, 1, 2], tf.float32, name='x')])
def square(x):
    return tf.square(tf.transpose(x, [0, 2, 1]))

expected = square(inputs['x']).numpy()
model, _ = tf2onnx.convert.from_function(square, square.input_signature, opset=17)
got = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, inputs)[0]
told = lambda a: "{0.dtype.name}{1}".format(np.asarray(a), list(np.shape(a)))
print("expected", told(expected), "got", told(got))
shows = np.shape(got) != np.shape(expected)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
