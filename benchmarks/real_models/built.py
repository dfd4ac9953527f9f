"""Models that the usual converters, quantisers and optimisers make, trained or drawn here from a fixed seed.

Each function returns the bytes of an ONNX file. They need scikit-learn, skl2onnx, onnxmltools, xgboost, lightgbm,
torch, onnxruntime and (one of them) tensorflow, keras and tf2onnx.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

OPSET = 17
VOCABULARY, WIDTH, HEADS, LAYERS = 1000, 128, 4, 3


def from_folder(make: Callable[[Path], Path]) -> bytes:
    """The file that ``make`` writes into a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return make(Path(folder)).read_bytes()


# ---- Trees and other learners of scikit-learn, XGBoost and LightGBM


def forest_with_zipmap() -> bytes:
    """A scaler and a random forest as skl2onnx converts them by default: probabilities leave as a list of maps."""
    from skl2onnx import to_onnx
    from sklearn.datasets import load_iris
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(n_estimators=40, random_state=0)).fit(x, y)
    return to_onnx(pipeline, x[:1].astype(np.float32), target_opset={"": OPSET, "ai.onnx.ml": 3}).SerializeToString()


def support_vectors() -> bytes:
    """A support vector classifier with a radial kernel; no ZipMap."""
    from skl2onnx import to_onnx
    from sklearn.datasets import load_wine
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    x, y = load_wine(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), SVC(gamma=0.05)).fit(x, y)
    model = to_onnx(
        pipeline,
        x[:1].astype(np.float32),
        options={"zipmap": False},
        target_opset={"": OPSET, "ai.onnx.ml": 3},
    )
    return model.SerializeToString()


def mixed_columns() -> bytes:
    """A column of words, one-hot, and two of numbers, imputed and scaled, into a logistic regression with a ZipMap."""
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    rng = np.random.default_rng(0)
    words = np.array(["red", "green", "blue"], dtype=object)[rng.integers(0, 3, (200, 1))]
    numbers = rng.normal(size=(200, 2))
    y = (numbers[:, 0] + (words[:, 0] == "red") > 0.3).astype(int)
    table = np.concatenate([words, numbers.astype(object)], axis=1)
    scaled = make_pipeline(SimpleImputer(), StandardScaler())
    columns = ColumnTransformer([("word", OneHotEncoder(handle_unknown="ignore"), [0]), ("number", scaled, [1, 2])])
    pipeline = make_pipeline(columns, LogisticRegression()).fit(table, y)
    kinds = [("word", StringTensorType([None, 1])), ("numbers", FloatTensorType([None, 2]))]
    return to_onnx(pipeline, initial_types=kinds, target_opset={"": OPSET, "ai.onnx.ml": 3}).SerializeToString()


def boosted_classifier() -> bytes:
    """XGBoost's classifier, converted by onnxmltools."""
    from onnxmltools import convert_xgboost
    from onnxmltools.convert.common.data_types import FloatTensorType
    from sklearn.datasets import load_breast_cancer
    from xgboost import XGBClassifier

    x, y = load_breast_cancer(return_X_y=True)
    model = XGBClassifier(n_estimators=60, max_depth=4, random_state=0, n_jobs=1).fit(x, y)
    types = [("features", FloatTensorType([None, x.shape[1]]))]
    return convert_xgboost(model, initial_types=types, target_opset=15).SerializeToString()


def boosted_regressor() -> bytes:
    """LightGBM's regressor, converted by onnxmltools."""
    from lightgbm import LGBMRegressor
    from onnxmltools import convert_lightgbm
    from onnxmltools.convert.common.data_types import FloatTensorType
    from sklearn.datasets import load_diabetes

    x, y = load_diabetes(return_X_y=True)
    model = LGBMRegressor(n_estimators=60, random_state=0, n_jobs=1, verbose=-1).fit(x, y)
    types = [("features", FloatTensorType([None, x.shape[1]]))]
    return convert_lightgbm(model, initial_types=types, target_opset=15).SerializeToString()


# ---- Transformers: an encoder as torch exports it, optimised and quantised; a decoder with a cache


def encoder_network() -> Any:
    """A BERT-like encoder with drawn weights."""
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
            self.first, self.second = nn.LayerNorm(WIDTH, eps=1e-12), nn.LayerNorm(WIDTH, eps=1e-12)

        def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            def split(y: torch.Tensor) -> torch.Tensor:
                return y.view(y.size(0), y.size(1), HEADS, WIDTH // HEADS).permute(0, 2, 1, 3)

            q, k, v = split(self.query(x)), split(self.key(x)), split(self.value(x))
            scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(WIDTH // HEADS) + mask
            mixed = torch.matmul(torch.softmax(scores, dim=-1), v).permute(0, 2, 1, 3).contiguous()
            x = self.first(self.out(mixed.view(mixed.size(0), mixed.size(1), WIDTH)) + x)
            return self.second(self.down(nn.functional.gelu(self.up(x))) + x)

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(128, WIDTH)
            self.kinds, self.norm = nn.Embedding(2, WIDTH), nn.LayerNorm(WIDTH, eps=1e-12)
            self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, kinds: torch.Tensor) -> torch.Tensor:
            places = torch.arange(input_ids.size(1), device=input_ids.device).unsqueeze(0)
            x = self.norm(self.words(input_ids) + self.kinds(kinds) + self.places(places))
            mask = (1.0 - attention_mask[:, None, None, :].to(torch.float32)) * -10000.0
            for block in self.blocks:
                x = block(x, mask)
            return x

    network = Encoder().eval()
    for layer in network.modules():
        if isinstance(layer, nn.LayerNorm):
            nn.init.uniform_(layer.weight, 0.5, 1.5)  # equal weights would be shared
            nn.init.uniform_(layer.bias, -0.5, 0.5)
    return network


def encoder_file(folder: Path) -> Path:
    import torch

    path, ids = folder / "encoder.onnx", torch.ones(1, 8, dtype=torch.int64)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    torch.onnx.export(
        encoder_network(),
        (ids, torch.ones_like(ids), torch.zeros_like(ids)),
        str(path),
        opset_version=OPSET,
        input_names=names,
        output_names=["last_hidden_state"],
        dynamic_axes={name: {0: "batch", 1: "sequence"} for name in [*names, "last_hidden_state"]},
        dynamo=False,
    )
    return path


def optimised_encoder_file(folder: Path) -> Path:
    from onnxruntime.transformers.optimizer import optimize_model

    path = folder / "optimised.onnx"
    model = optimize_model(str(encoder_file(folder)), model_type="bert", num_heads=HEADS, hidden_size=WIDTH)
    model.save_model_to_file(str(path))
    return path


def quantised_encoder_file(folder: Path) -> Path:
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    path = folder / "quantised.onnx"
    # Shape inference stops at the operators of onnxruntime's own; everything behind them is float32.
    floats = {"DefaultTensorType": onnx.TensorProto.FLOAT}
    quantize_dynamic(optimised_encoder_file(folder), path, weight_type=QuantType.QInt8, extra_options=floats)
    return path


def half_encoder_file(folder: Path) -> Path:
    import onnx
    from onnxruntime.transformers.float16 import convert_float_to_float16

    path = folder / "half.onnx"
    onnx.save(convert_float_to_float16(onnx.load(encoder_file(folder))), path)
    return path


def decoder_with_cache_file(folder: Path) -> Path:
    """One step of a GPT-like decoder: keys and values of what came before enter, and leave longer."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    size = WIDTH // HEADS

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.all, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
            self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

        def forward(self, x: torch.Tensor, mask: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> Any:
            q, k, v = (
                part.view(part.size(0), part.size(1), HEADS, size).transpose(1, 2)
                for part in self.all(self.first(x)).split(WIDTH, dim=-1)
            )
            k, v = torch.cat([key, k], dim=2), torch.cat([value, v], dim=2)
            scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(size)
            scores = scores.masked_fill(~mask[:, None], torch.finfo(torch.float32).min)
            mixed = torch.matmul(torch.softmax(scores, dim=-1), v).transpose(1, 2)
            x = x + self.out(mixed.reshape(x.size(0), x.size(1), WIDTH))
            return x + self.down(nn.functional.gelu(self.up(self.second(x)), approximate="tanh")), k, v

    class Decoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(256, WIDTH)
            self.blocks, self.norm = nn.ModuleList(Block() for _ in range(2)), nn.LayerNorm(WIDTH)

        def forward(
            self, input_ids: torch.Tensor, attention_mask: torch.Tensor, position_ids: torch.Tensor, *past: Any
        ):
            x = self.words(input_ids) + self.places(position_ids)
            before, total = past[0].size(2), attention_mask.size(1)
            rows = torch.arange(input_ids.size(1))[:, None] + before
            mask = (torch.arange(total)[None, :] <= rows)[None] & attention_mask[:, None, :].bool()
            present = []
            for i, block in enumerate(self.blocks):
                x, key, value = block(x, mask, past[2 * i], past[2 * i + 1])
                present += [key, value]
            return (torch.matmul(self.norm(x), self.words.weight.t()), *present)

    cache = [f"past_key_values.{i}.{what}" for i in range(2) for what in ("key", "value")]
    present = [name.replace("past_key_values", "present") for name in cache]
    axes = {"input_ids": {0: "batch", 1: "sequence"}, "logits": {0: "batch", 1: "sequence"}}
    axes |= {"attention_mask": {0: "batch", 1: "past + sequence"}, "position_ids": {0: "batch", 1: "sequence"}}
    axes |= {name: {0: "batch", 2: "past"} for name in cache}
    axes |= {name: {0: "batch", 2: "past + sequence"} for name in present}
    past = [torch.zeros(1, HEADS, 5, size) for _ in cache]
    ids, path = torch.ones(1, 3, dtype=torch.int64), folder / "decoder.onnx"
    torch.onnx.export(
        Decoder().eval(),
        (ids, torch.ones(1, 8, dtype=torch.int64), torch.arange(5, 8)[None], *past),
        str(path),
        opset_version=OPSET,
        input_names=["input_ids", "attention_mask", "position_ids", *cache],
        output_names=["logits", *present],
        dynamic_axes=axes,
        dynamo=False,
    )
    return path


# ---- Networks for images and sequences


def convolutions() -> Any:
    """A small residual network with drawn weights."""
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Residual(nn.Module):
        def __init__(self, channels: int) -> None:
            super().__init__()
            self.first, self.second = (nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))
            self.norm = nn.BatchNorm2d(channels)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(x + self.norm(self.second(torch.relu(self.first(x)))))

    parts = [nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(), Residual(16), nn.MaxPool2d(2), Residual(16)]
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)).eval()


def quantised_static_file(folder: Path) -> Path:
    """Calibrated on drawn images; a QuantizeLinear and a DequantizeLinear around every operator, weights by channel."""
    import torch
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    exported, path = folder / "network.onnx", folder / "static.onnx"
    torch.onnx.export(
        convolutions(),
        (torch.zeros(1, 3, 64, 64),),
        str(exported),
        opset_version=OPSET,
        input_names=["image"],
        output_names=["scores"],
        dynamic_axes={"image": {0: "batch"}, "scores": {0: "batch"}},
        dynamo=False,
    )
    rng = np.random.default_rng(0)

    class Images(CalibrationDataReader):
        def __init__(self) -> None:
            self.left = [{"image": rng.uniform(0, 1, (1, 3, 64, 64)).astype(np.float32)} for _ in range(8)]

        def get_next(self) -> dict[str, np.ndarray] | None:
            return self.left.pop() if self.left else None

    quantize_static(
        exported,
        path,
        Images(),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
    )
    return path


def vision_transformer_file(folder: Path) -> Path:
    """Patches of an image and two of torch's own encoder layers, by torch's newer exporter, with an open batch."""
    import torch
    from torch import nn

    torch.manual_seed(0)

    class VisionTransformer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, 64, 16, stride=16)
            self.places = nn.Parameter(torch.randn(1, 16, 64) * 0.1)
            layer = nn.TransformerEncoderLayer(64, 4, 128, activation="gelu", batch_first=True, norm_first=True)
            self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.head = nn.Linear(64, 10)

        def forward(self, image: torch.Tensor) -> torch.Tensor:
            x = self.patches(image).flatten(2).transpose(1, 2) + self.places
            return self.head(self.layers(x).mean(1))

    path = folder / "vision.onnx"
    program = torch.onnx.export(
        VisionTransformer().eval(),
        (torch.rand(2, 3, 64, 64),),
        dynamo=True,
        opset_version=18,
        input_names=["image"],
        output_names=["scores"],
        dynamic_shapes=({0: torch.export.Dim("batch")},),
    )
    assert program is not None
    program.save(str(path), external_data=False)
    return path


def keras_sequence_file(folder: Path) -> Path:
    """An embedding, a bidirectional GRU and an LSTM of Keras, by tf2onnx, with open batch and length."""
    import keras
    import tensorflow as tf
    import tf2onnx

    keras.utils.set_random_seed(0)
    layers = keras.layers
    network = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            layers.Embedding(200, 32),
            layers.Bidirectional(layers.GRU(24, return_sequences=True)),
            layers.LSTM(24),
            layers.Dense(5, activation="softmax"),
        ]
    )
    signature = [tf.TensorSpec((None, None), tf.int32, name="words")]
    function = tf.function(lambda words: network(words, training=False), input_signature=signature)
    path = folder / "sequence.onnx"
    tf2onnx.convert.from_function(function, input_signature=signature, opset=OPSET, output_path=str(path))
    return path


BUILT: dict[str, Callable[[], bytes]] = {
    "forest-with-zipmap": forest_with_zipmap,
    "support-vectors": support_vectors,
    "mixed-columns": mixed_columns,
    "boosted-classifier": boosted_classifier,
    "boosted-regressor": boosted_regressor,
    "encoder-optimised": lambda: from_folder(optimised_encoder_file),
    "encoder-quantised": lambda: from_folder(quantised_encoder_file),
    "encoder-half": lambda: from_folder(half_encoder_file),
    "decoder-with-cache": lambda: from_folder(decoder_with_cache_file),
    "convolutions-qdq": lambda: from_folder(quantised_static_file),
    "vision-transformer": lambda: from_folder(vision_transformer_file),
    "keras-sequence": lambda: from_folder(keras_sequence_file),
}
