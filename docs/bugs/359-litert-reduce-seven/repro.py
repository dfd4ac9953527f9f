"""ai-edge-litert 2.3.0: XNNPACK claims a reduction of seven dimensions and then fails to prepare it

Seen with ai-edge-litert 2.3.0; needs numpy, ai-edge-litert, tensorflow. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: TensorFlow Lite, XNNPACK backend: "Unsupported operators will fall back to the default implementations".
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType
inputs = {'x': np.ones([1] * 7, 'float32')}
module = tf.Module()
module.compute = tf.function(lambda x: tf.reduce_sum(x, -1), input_signature=[tf.TensorSpec([1] * 7, tf.float32)])
made = tf.lite.TFLiteConverter.from_concrete_functions([module.compute.get_concrete_function()], module).convert()
def run(kernels):
    call = Interpreter(model_content=made, num_threads=1, experimental_op_resolver_type=kernels).get_signature_runner()
    return next(iter(call(**inputs).values()))
own = run(OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
try:
    got = run(OpResolverType.BUILTIN)
except (RuntimeError, ValueError) as error:
    got = error
print("expected", own.tolist(), "got", got)
shows = isinstance(got, Exception) and "failed to prepare" in str(got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
