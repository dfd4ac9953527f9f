"""Networks built on attention, and those that replaced it: a decoder with a cache, GPT, ViT, Mixer, ConvNeXt."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn

from . import untrained
from .seed import Input, Seed

VOCABULARY = 40


class CachedAttention(nn.Module):
    """Vaswani et al. 2017, section 3.2, where keys and values of earlier tokens come from a cache."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, past: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """float32[N, 1, width] and [2, N, heads, P, D] -> float32[N, 1, width] and [2, N, heads, P + 1, D]."""
        batch, width = x.shape[0], x.shape[2]
        q, k, v = self.qkv(x).view(batch, 1, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        present = torch.cat([past, torch.stack([k, v])], dim=3)
        logits = torch.matmul(q, present[0].transpose(-1, -2)) / math.sqrt(width // self.heads)
        mixed = torch.matmul(torch.softmax(logits, -1), present[1])
        return self.output(mixed.transpose(1, 2).reshape(batch, 1, width)), present


class CachedDecoder(nn.Module):
    """One step of a decoder: the next token's scores and a longer cache; RMS normalisation, gated SiLU."""

    def __init__(self, width: int = 32, heads: int = 4, layers: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.attention = nn.ModuleList(CachedAttention(width, heads) for _ in range(layers))
        self.gate = nn.ModuleList(nn.Linear(width, 2 * width, bias=False) for _ in range(layers))
        self.up = nn.ModuleList(nn.Linear(width, 2 * width, bias=False) for _ in range(layers))
        self.down = nn.ModuleList(nn.Linear(2 * width, width, bias=False) for _ in range(layers))
        self.scale = nn.ParameterList(nn.Parameter(torch.ones(width)) for _ in range(2 * layers + 1))
        self.width = width

    def norm(self, x: torch.Tensor, index: int) -> torch.Tensor:
        """Zhang and Sennrich 2019: Root Mean Square Layer Normalization, equation 4."""
        return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * (1 + self.scale[index])

    def forward(self, token: torch.Tensor, past: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """int64[N, 1] and float32[layers, 2, N, heads, P, D] -> scores, float32[N, tokens], and a cache of P + 1."""
        x = self.embedding(token)
        # Sinusoidal position of the new token: as many as are in the cache.
        position = torch.tensor(past.shape[4]).to(torch.float32)
        rates = torch.exp(torch.arange(0, self.width, 2, dtype=torch.float32) * (-math.log(1e4) / self.width))
        x = x + torch.cat([torch.sin(position * rates), torch.cos(position * rates)])
        cache: list[torch.Tensor] = []
        for index, attention in enumerate(self.attention):
            mixed, present = attention(self.norm(x, 2 * index), past[index])
            cache.append(present)
            x = x + mixed
            y = self.norm(x, 2 * index + 1)
            x = x + self.down[index](nn.functional.silu(self.gate[index](y)) * self.up[index](y))
        scores = torch.matmul(self.norm(x, -1), self.embedding.weight.t())
        return scores[:, -1], torch.stack(cache)


class GPT(nn.Module):
    """Radford et al. 2019, section 2.3: causal attention by a triangular mask, learned positions, GELU by tanh."""

    def __init__(self, width: int = 32, heads: int = 4, layers: int = 2, context: int = 16) -> None:
        super().__init__()
        self.heads = heads
        self.embedding, self.position = nn.Embedding(VOCABULARY, width), nn.Embedding(context, width)
        self.norm1 = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.norm2 = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(layers))
        self.output = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.up = nn.ModuleList(nn.Linear(width, 4 * width) for _ in range(layers))
        self.down = nn.ModuleList(nn.Linear(4 * width, width) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """int64[N, T] -> scores of the token after each, float32[N, T, vocabulary]."""
        batch, length = tokens.shape
        x = self.embedding(tokens) + self.position(torch.arange(length))
        allowed = torch.tril(torch.ones(length, length)) > 0
        for index in range(len(self.qkv)):
            q, k, v = self.qkv[index](self.norm1[index](x)).chunk(3, -1)
            q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in (q, k, v))
            logits = torch.matmul(q, k.transpose(-1, -2)) * (q.shape[-1] ** -0.5)
            mixed = torch.matmul(torch.softmax(logits.masked_fill(~allowed, -1e10), -1), v)
            x = x + self.output[index](mixed.transpose(1, 2).reshape(batch, length, -1))
            hidden = nn.functional.gelu(self.up[index](self.norm2[index](x)), approximate="tanh")
            x = x + self.down[index](hidden)
        return torch.matmul(self.norm(x), self.embedding.weight.t())


class ViT(nn.Module):
    """Dosovitskiy et al. 2021, section 3.1, patches of 8 pixels, two layers, for images of 32 pixels."""

    def __init__(self, width: int = 32, heads: int = 4, layers: int = 2, classes: int = 10) -> None:
        super().__init__()
        self.heads = heads
        self.patches = nn.Conv2d(3, width, 8, 8)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(torch.zeros(1, 17, width))
        self.norm1 = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.norm2 = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(layers))
        self.output = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.mlp = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)) for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """float32[N, 3, 32, 32] -> class scores, float32[N, 10]."""
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.position
        batch, length, width = x.shape
        for index, mlp in enumerate(self.mlp):
            qkv = self.qkv[index](self.norm1[index](x)).reshape(batch, length, 3, self.heads, width // self.heads)
            q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
            weights = torch.softmax(torch.einsum("bhid,bhjd->bhij", q, k) * (width // self.heads) ** -0.5, -1)
            mixed = torch.einsum("bhij,bhjd->bihd", weights, v).reshape(batch, length, width)
            x = x + self.output[index](mixed)
            x = x + mlp(self.norm2[index](x))
        return self.head(self.norm(x)[:, 0])


class Mixer(nn.Module):
    """Tolstikhin et al. 2021, figure 1: dense layers over patches, then over channels, patches of 4 pixels."""

    def __init__(self, width: int = 24, layers: int = 2, classes: int = 10) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.norm1 = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.norm2 = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.tokens = nn.ModuleList(
            nn.Sequential(nn.Linear(64, 32), nn.GELU(), nn.Linear(32, 64)) for _ in range(layers)
        )
        self.channels = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)) for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """float32[N, 3, 32, 32] -> class scores, float32[N, 10]."""
        x = self.patches(image).flatten(2).transpose(1, 2)
        for norm1, norm2, tokens, channels in zip(self.norm1, self.norm2, self.tokens, self.channels, strict=True):
            x = x + tokens(norm1(x).transpose(1, 2)).transpose(1, 2)
            x = x + channels(norm2(x))
        return self.head(self.norm(x).mean(1))


class ConvNeXtBlock(nn.Module):
    """Liu et al. 2022, figure 4: a depthwise 7x7 convolution, dense layers over channels, a learned scale."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 7, 1, 3, groups=width)
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """float32[N, width, H, W] -> the same shape."""
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = (0.5 + self.scale) * self.down(nn.functional.gelu(self.up(y)))
        return x + y.permute(0, 3, 1, 2)


class ConvNeXt(nn.Module):
    """Liu et al. 2022, section 2, two stages of two blocks, for images of 32 pixels."""

    def __init__(self, width: int = 12, classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 4, 4)
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(2 * width)])
        self.stage1 = nn.Sequential(ConvNeXtBlock(width), ConvNeXtBlock(width))
        self.down = nn.Conv2d(width, 2 * width, 2, 2)
        self.stage2 = nn.Sequential(ConvNeXtBlock(2 * width), ConvNeXtBlock(2 * width))
        self.head = nn.Linear(2 * width, classes)

    def over_channels(self, norm: nn.Module, x: torch.Tensor) -> torch.Tensor:
        """Normalise float32[N, C, H, W] over its channels."""
        return norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """float32[N, 3, 32, 32] -> class scores, float32[N, 10]."""
        x = self.stage1(self.over_channels(self.norms[0], self.stem(image)))
        x = self.stage2(self.down(self.over_channels(self.norms[1], x)))
        return self.head(self.norms[2](x.mean((2, 3))))


def _tokens(count: int, length: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, VOCABULARY, (count, 1, length))


def decoder() -> Seed:
    past = np.clip(np.random.default_rng(30).standard_normal((4, 2, 2, 1, 4, 5, 8)), -4, 4).astype(np.float32)
    return untrained.from_torch(
        "decoder",
        "Decoder step with a key and value cache of named length: RMS normalisation, gated SiLU, tied embedding",
        "Touvron et al.: LLaMA: Open and Efficient Foundation Language Models, 2023, section 2.2; cache as in Pope et "
        "al.: Efficiently Scaling Transformer Inference, 2023",
        CachedDecoder(),
        {"token": _tokens(4, 1, 30), "past": past},
        [
            Input("token", 0, VOCABULARY - 1, "the last token; indexes the embedding"),
            Input("past", -4.0, 4.0, "keys and values of earlier tokens: layer, key or value, batch, head, token"),
        ],
        {"scores": "score of each next token", "present": "the cache with the last token's keys and values appended"},
        named={
            "token": ["batch"],
            "past": [None, None, "batch", None, "past_length"],
            "scores": ["batch"],
            "present": [None, None, "batch", None, "present_length"],
        },
        seed=30,
    )


def gpt() -> Seed:
    return untrained.from_torch(
        "gpt",
        "GPT: causal attention by a triangular mask of computed size, learned positions, tied embedding, named length",
        "Radford et al.: Language Models are Unsupervised Multitask Learners, 2019, section 2.3",
        GPT(),
        {"tokens": _tokens(4, 10, 31)},
        [Input("tokens", 0, VOCABULARY - 1, "a text; indexes the embedding")],
        {"scores": "score of each token that may follow, at each place"},
        named={"tokens": ["batch", "length"], "scores": ["batch", "length"]},
        seed=31,
    )


def vit() -> Seed:
    return untrained.classifier(
        "vit",
        "Vision transformer: patches by a convolution, class token, two layers of attention by Einsum",
        "Dosovitskiy et al.: An Image is Worth 16x16 Words, 2021, section 3.1",
        ViT(),
        (3, 32, 32),
        seed=32,
    )


def mixer() -> Seed:
    return untrained.classifier(
        "mixer",
        "MLP-Mixer: dense layers over patches and over channels in turn",
        "Tolstikhin et al.: MLP-Mixer: An all-MLP Architecture for Vision, 2021, figure 1",
        Mixer(),
        (3, 32, 32),
        seed=33,
    )


def convnext() -> Seed:
    return untrained.classifier(
        "convnext",
        "ConvNeXt: depthwise 7x7 convolutions, LayerNormalization with channels last, GELU",
        "Liu et al.: A ConvNet for the 2020s, 2022, section 2",
        ConvNeXt(),
        (3, 32, 32),
        seed=34,
    )
