"""ai-edge-litert 2.3.0: XNNPACK's cosine of large numbers is far above 1

Seen with ai-edge-litert 2.3.0; needs numpy, ai-edge-litert, tensorflow. Exit code 1 where it shows, 0 where not, 2 where it cannot be told.
Expected: TensorFlow, `tf.math.cos`, of which LiteRT's operator is the conversion: "Input range is `(-inf, inf)` and output range is
`[-1,1]`."
"""
import os, sys
sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType
inputs = {'x': np.array([1e10], 'float32')}
module = tf.Module()
module.compute = tf.function(lambda x: tf.cos(x), input_signature=[tf.TensorSpec([1], tf.float32)])
made = tf.lite.TFLiteConverter.from_concrete_functions([module.compute.get_concrete_function()], module).convert()
def run(kernels):
    call = Interpreter(model_content=made, num_threads=1, experimental_op_resolver_type=kernels).get_signature_runner()
    return next(iter(call(**inputs).values()))[0]
got, own = run(OpResolverType.BUILTIN), run(OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
print("expected", np.cos(inputs['x'].astype(float))[0], "got", got, "by LiteRT's own kernel", own)
shows = abs(got) > 1.001
print("the fault shows" if shows else "the fault does not show")
sys.exit(int(shows))
