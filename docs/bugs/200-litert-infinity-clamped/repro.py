"""ai-edge-litert 2.3.0: its own kernels give the largest finite number for an infinity

Seen with ai-edge-litert 2.3.0; needs numpy, ai-edge-litert, tensorflow. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: TensorFlow Lite, `ActivationFunctionType`: `NONE` is no function, and TensorFlow's `Add` of an infinity and 1, which is converted
to `ADD` with `NONE`, is an infinity: "Returns x + y element-wise."
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType
inputs = {'x': np.array([np.inf], 'float32'), 'v': np.array([1], 'float32')}
module = tf.Module()
module.compute = tf.function(lambda x, v: x + v, input_signature=[tf.TensorSpec([1], tf.float32), tf.TensorSpec([1], tf.float32)])
made = tf.lite.TFLiteConverter.from_concrete_functions([module.compute.get_concrete_function()], module).convert()
def run(kernels):
    call = Interpreter(model_content=made, num_threads=1, experimental_op_resolver_type=kernels).get_signature_runner()
    return next(iter(call(**inputs).values()))[0]
got, xnnpack = run(OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES), run(OpResolverType.BUILTIN)
print("expected", np.inf, "got", got, "by XNNPACK's kernel", xnnpack)
shows = np.isfinite(got)
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
