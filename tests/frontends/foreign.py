"""Models of other frameworks: factories that irfuzz runs, and as a script what writes files of each kind to a folder.

Beside each file NAME lies NAME.npz with inputs ``in_NAME`` and the framework's own answers ``out_NAME``.
"""

import sys
from pathlib import Path

import numpy as np


def keras_branches():
    """Two inputs and two outputs by name."""
    import keras

    keras.utils.set_random_seed(7)
    image, ids = keras.Input((8, 8, 3), name="image"), keras.Input((4,), dtype="int32", name="ids")
    x = keras.layers.Conv2D(4, 3, activation="relu", name="conv")(image)
    x = keras.layers.BatchNormalization(name="bn")(x)
    x = keras.layers.GlobalAveragePooling2D(name="pool")(x)
    y = keras.layers.GRU(4, name="gru")(keras.layers.Embedding(10, 4, name="embedding")(ids))
    both = keras.layers.Concatenate(name="both")([x, y])
    heads = [keras.layers.Dense(3, name="label")(both), keras.layers.Dense(2, name="box")(x)]
    return keras.Model([image, ids], heads, name="branches")


def keras_sequential():
    """tf2onnx's own from_keras fails on it."""
    import keras

    keras.utils.set_random_seed(8)
    layers = [keras.layers.Input((8,), name="rows"), keras.layers.Dense(4, activation="tanh", name="hidden")]
    return keras.Sequential([*layers, keras.layers.Dense(2, name="scores")], name="plain")


def keras_logarithm():
    """The logarithm of two layers with one unit each, whose biases start at 0, and 0.5."""
    import keras

    class Logarithm(keras.layers.Layer):
        def build(self, shapes):
            import tensorflow as tf

            # Two variables of one name, of which one is read twice.
            self.zeros = [tf.Variable([0.0] * size, name="zero") for size in (1, 2)]

        def call(self, x):
            one, two = self.zeros
            return keras.ops.log(x[0] - x[1] + 0.5 + one * one + (two * two)[0])

    positive, negative = (keras.initializers.RandomUniform(low, low + 0.1, seed=1) for low in (0.0, -0.1))
    rows = keras.Input((8,), name="rows")
    first = keras.layers.Dense(1, kernel_initializer=positive, name="first")(rows)
    second = keras.layers.Dense(1, kernel_initializer=negative, name="second")(rows)
    return keras.Model(rows, Logarithm(name="logarithm")([first, second]), name="logarithm")


def torch_branches():
    """Two inputs by name, weights that the file does not seed."""
    import torch
    from torch import nn

    class Branches(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4)
            self.lstm, self.head = nn.LSTM(5, 4, batch_first=True), nn.Linear(4, 3)
            self.drop = nn.Dropout(0.5)

        def forward(self, image, rows):
            x = torch.relu(self.norm(self.conv(image))).mean((2, 3))
            steps, _ = self.lstm(rows)
            return self.drop(self.head(x + steps[:, -1]))

    generator = torch.Generator().manual_seed(1)
    image, rows = (torch.randn(*s, generator=generator) for s in ((2, 1, 8, 8), (2, 3, 5)))
    return Branches(), {"image": image, "rows": rows}


def torch_draws():
    """Nothing but what PyTorch draws, imported late and not seeded."""
    import onnx
    import torch

    drawn = onnx.numpy_helper.from_array(torch.randn(64).numpy(), "w")
    model = proto()
    model.graph.initializer.append(drawn)
    return model


def graphsurgeon():
    import onnx_graphsurgeon as gs

    x, y = (gs.Variable(n, dtype=np.float32, shape=(2, 3)) for n in "xy")
    add = gs.Node("Add", name="plus", inputs=[x, gs.Constant("w", np.ones(3, np.float32))], outputs=[y])
    return gs.Graph(nodes=[add], inputs=[x], outputs=[y], opset=17)


def proto():
    import onnx

    return onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) {y=Neg(x)}')


def broken_proto():
    import onnx

    return onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) {y=Nag(x)}')


def raises():
    raise OSError("weights.npz is missing\nand more")


def misfit():
    """Inputs that the module does not take."""
    import torch

    return torch.nn.Linear(2, 2), torch.zeros(3, 3)


def needs_a_missing_package():
    sys.modules["onnx_graphsurgeon"] = None
    import onnx_graphsurgeon

    return onnx_graphsurgeon


def module_alone():
    import torch

    return torch.nn.Linear(2, 3)


def a_number():
    return 3


def takes_an_argument(width):
    return width


def forever():
    while True:
        pass


def dies():
    import os

    os.kill(os.getpid(), 11)


def greedy():
    return np.ones((1 << 33,), np.uint8)


not_a_function = 5


def write_tensorflow(folder):
    """branches.keras, plain.h5, the SavedModel ``captured`` and the frozen graph ``frozen.pb``."""
    import tensorflow as tf

    rng = np.random.default_rng(0)

    def keep(name, inputs, outputs):
        arrays = {f"in_{k}": v for k, v in inputs.items()} | {f"out_{k}": np.asarray(v) for k, v in outputs.items()}
        np.savez(folder / f"{name}.npz", **arrays)

    model = keras_branches()
    image, ids = rng.random((3, 8, 8, 3), np.float32), rng.integers(0, 10, (3, 4)).astype(np.int32)
    model.save(folder / "branches.keras")
    keep("branches.keras", {"image": image, "ids": ids}, dict(zip(("label", "box"), model([image, ids]), strict=True)))

    model = keras_sequential()
    rows = rng.random((3, 8), np.float32)
    model.save(folder / "plain.h5")
    keep("plain.h5", {"rows": rows}, {"scores": model(rows)})

    class Captured(tf.Module):
        def __init__(self):
            self.weight, self.shift = tf.Variable(rng.random((8, 2), np.float32)), tf.constant([3.0, 4.0])

        @tf.function(input_signature=[tf.TensorSpec((None, 8), tf.float32, name="rows")])
        def serve(self, rows):
            return {"scores": tf.nn.softplus(rows @ self.weight) + self.shift}

    module = Captured()
    tf.saved_model.save(module, str(folder / "captured"), signatures={"serving_default": module.serve})
    keep("captured", {"rows": rows}, module.serve(tf.constant(rows)))

    weight = module.weight.numpy()
    with tf.Graph().as_default() as frozen:
        x = tf.compat.v1.placeholder(tf.float32, (None, 8), name="rows")
        tf.identity(tf.nn.softplus(tf.matmul(x, tf.constant(weight))), name="scores")
    (folder / "frozen.pb").write_bytes(frozen.as_graph_def().SerializeToString())
    keep("frozen.pb", {"rows": rows}, {"scores": tf.nn.softplus(rows @ weight)})

    with tf.Graph().as_default() as harmful:
        x = tf.compat.v1.placeholder(tf.float32, (2,), name="x")
        tf.io.write_file(str(folder / "written"), "text", name="write")
        tf.identity(x, name="y")
    (folder / "harmful.pb").write_bytes(harmful.as_graph_def().SerializeToString())


def write_torch(folder):
    """exported.pt2 with a batch of any size."""
    import torch

    torch.manual_seed(3)
    module, inputs = torch_branches()
    module.eval()
    batch = torch.export.Dim("batch", min=1, max=64)
    program = torch.export.export(module, (), inputs, dynamic_shapes={name: {0: batch} for name in inputs})
    torch.export.save(program, folder / "exported.pt2")
    arrays = {f"in_{k}": v.numpy() for k, v in inputs.items()}
    np.savez(folder / "exported.pt2.npz", **arrays, out_=module(**inputs).detach().numpy())


if __name__ == "__main__":
    {"tensorflow": write_tensorflow, "torch": write_torch}[sys.argv[1]](Path(sys.argv[2]))
