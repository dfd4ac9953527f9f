"""Builds published networks at full size with random weights, as ONNX models of opset 17.

    python -m benchmarks.large_models FOLDER [resnet50] [inception-resnet-v2] [densenet121] [transformer]

The convolutional networks are those of Keras, converted by tf2onnx; the transformer is BERT-base's encoder (Devlin et
al. 2019, 12 layers, 768 wide, 12 heads, a vocabulary of 30,522 words) written in PyTorch.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

OPSET = 17


def keras_model(name: str, size: int) -> Callable[[Path], None]:
    """A network of ``keras.applications`` for images of ``size`` by ``size``, without its training's weights."""

    def build(path: Path) -> None:
        import keras
        import tensorflow as tf
        import tf2onnx

        keras.utils.set_random_seed(0)
        model = getattr(keras.applications, name)(weights=None)
        rng = np.random.default_rng(0)
        for layer in model.layers:
            if isinstance(layer, keras.layers.BatchNormalization):
                # As they are made (0 and 1) the converter would fold them away.
                layer.set_weights([rng.uniform(0.5, 1.5, w.shape).astype(np.float32) for w in layer.get_weights()])
        signature = [tf.TensorSpec((1, size, size, 3), tf.float32, name="image")]
        function = tf.function(lambda image: model(image, training=False), input_signature=signature)
        tf2onnx.convert.from_function(function, input_signature=signature, opset=OPSET, output_path=str(path))

    return build


def transformer(path: Path, layers: int = 12, width: int = 768, heads: int = 12, words: int = 30522) -> None:
    """BERT's embeddings, encoder and pooler on 128 words."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    length = 128

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.first, self.second = nn.LayerNorm(width, eps=1e-12), nn.LayerNorm(width, eps=1e-12)

        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            def split(y: torch.Tensor) -> torch.Tensor:
                return y.view(1, length, heads, width // heads).transpose(1, 2)

            q, k, v = split(self.query(x)), split(self.key(x)), split(self.value(x))
            scores = q @ k.transpose(-1, -2) / math.sqrt(width // heads) + mask
            mixed = (torch.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(1, length, width)
            x = self.first(x + self.out(mixed))
            return self.second(x + self.down(nn.functional.gelu(self.up(x))))

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places, self.kinds = (
                nn.Embedding(words, width),
                nn.Embedding(512, width),
                nn.Embedding(2, width),
            )
            self.norm = nn.LayerNorm(width, eps=1e-12)
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
            self.pooler = nn.Linear(width, width)

        def forward(self, ids: torch.Tensor, kinds: torch.Tensor, attended: torch.Tensor) -> torch.Tensor:
            places = torch.arange(length).unsqueeze(0)
            x = self.norm(self.words(ids) + self.places(places) + self.kinds(kinds))
            mask = (1.0 - attended[:, None, None, :].float()) * -1e4
            for block in self.blocks:
                x = block(x, mask)
            return torch.tanh(self.pooler(x[:, 0]))

    ids = torch.ones(1, length, dtype=torch.int64)
    encoder = Encoder().eval()
    for layer in encoder.modules():
        if isinstance(layer, nn.LayerNorm):
            nn.init.uniform_(layer.weight, 0.5, 1.5)  # equal weights would be shared
            nn.init.uniform_(layer.bias, -0.5, 0.5)
    torch.onnx.export(
        encoder,
        (ids, torch.zeros_like(ids), torch.ones_like(ids)),
        str(path),
        opset_version=OPSET,
        input_names=["ids", "kinds", "attended"],
        dynamo=False,
    )


MODELS: dict[str, Callable[[Path], None]] = {
    "resnet50": keras_model("ResNet50", 224),
    "inception-resnet-v2": keras_model("InceptionResNetV2", 299),
    "densenet121": keras_model("DenseNet121", 224),
    "transformer": transformer,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("models", nargs="*", choices=[*MODELS, []], help="all, unless some are named")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.models or MODELS:
        path = options.folder / f"{name}.onnx"
        MODELS[name](path)
        print(f"{path}: {path.stat().st_size / 1e6:.0f} MB", flush=True)


if __name__ == "__main__":
    main()
