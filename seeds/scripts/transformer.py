"""A transformer encoder that reads a digit's rows as tokens."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn

from . import digits, torch_export, training
from .seed import Input, Seed

WIDTH = 32
HEADS = 4
TOKENS = 8


class SelfAttention(nn.Module):
    """Vaswani et al. 2017, section 3.2.2, with an additive mask as in BERT."""

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH)
        self.key = nn.Linear(WIDTH, WIDTH)
        self.value = nn.Linear(WIDTH, WIDTH)
        self.output = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        """float32[N, T, WIDTH] and what is added to the logits, float32[N, 1, 1, T] -> float32[N, T, WIDTH]."""
        batch, tokens = x.size(0), x.size(1)
        q, k, v = (
            layer(x).view(batch, tokens, HEADS, WIDTH // HEADS).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        logits = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(WIDTH // HEADS)
        mixed = torch.matmul(torch.softmax(logits + bias, dim=-1), v)
        return self.output(mixed.transpose(1, 2).reshape(batch, tokens, WIDTH))


class EncoderLayer(nn.Module):
    """Attention and a feed-forward network with GELU, each normalised first and added to what it read."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.attention = SelfAttention()
        self.norm2 = nn.LayerNorm(WIDTH)
        self.feedforward = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        """Same shapes as ``SelfAttention.forward``."""
        x = x + self.attention(self.norm1(x), bias)
        return x + self.feedforward(self.norm2(x))


class TransformerEncoder(nn.Module):
    """Two layers between a linear embedding with learned positions and a mean over the tokens that are there."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Linear(8, WIDTH)
        self.position = nn.Parameter(0.1 * torch.randn(TOKENS, WIDTH))
        self.layers = nn.ModuleList(EncoderLayer() for _ in range(2))
        self.norm = nn.LayerNorm(WIDTH)
        self.classifier = nn.Linear(WIDTH, 10)

    def forward(self, rows: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """float32[N, 8, 8] and int64[N, 8] (1: the row is there) -> class scores, float32[N, 10]."""
        present = attention_mask.to(torch.float32)
        bias = (1.0 - present)[:, None, None, :] * -10000.0
        x = self.embedding(rows) + self.position
        for layer in self.layers:
            x = layer(x, bias)
        weight = present.unsqueeze(-1)
        pooled = (self.norm(x) * weight).sum(1) / weight.sum(1).clamp(min=1.0)
        return self.classifier(pooled)


def masks(count: int, seed: int) -> np.ndarray:
    """int64[count, 8] where each row of an image is missing (0) with probability 1/20."""
    return (np.random.default_rng(seed).random((count, TOKENS)) >= 0.05).astype(np.int64)


def build() -> Seed:
    """Train, export and describe."""
    data = digits.load()
    # Each image is learned whole and with rows missing.
    rows = np.concatenate([data.train, data.train]).astype(np.float32) / digits.MAX_PIXEL
    present = np.concatenate([np.ones((len(data.train), TOKENS), np.int64), masks(len(data.train), 1)])
    labels = np.concatenate([data.train_labels, data.train_labels])
    model = training.fit(TransformerEncoder, [rows, present], labels, epochs=12, rate=1e-2)
    samples = {
        "rows": data.test.astype(np.float32) / digits.MAX_PIXEL,
        "attention_mask": masks(len(data.test), 2),
    }
    batch = ["batch"]
    return Seed(
        name="transformer",
        title="Transformer encoder: two layers of masked attention, LayerNormalization, GELU by Erf, mean pool",
        origin="defined in PyTorch, trained on the rows of scikit-learn's digits, exported by torch.onnx",
        reference="Vaswani et al.: Attention Is All You Need, 2017, section 3; mask as in Devlin et al.: BERT, 2019",
        model=torch_export.export(
            model,
            {name: torch.from_numpy(array[:1]) for name, array in samples.items()},
            output="scores",
            named={"rows": batch, "attention_mask": batch, "scores": batch},
        ),
        inputs=(
            Input("rows", 0.0, 1.0, "ink, one token a row of the image"),
            Input("attention_mask", 0, 1, "1 where a row is there, 0 where attention must not look"),
        ),
        output="score of each digit, before softmax",
        samples=samples,
        labels=data.test_labels,
    )
