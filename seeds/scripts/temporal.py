"""Convolutions over one and three axes: a temporal network on signals, a network on short films."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from . import images, untrained
from .seed import Input, Seed


class GatedResidual(nn.Module):
    """Van den Oord et al. 2016, figure 4: a dilated causal convolution, tanh times sigmoid, a skip and a residual."""

    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.pad = nn.ConstantPad1d((2 * dilation, 0), 0.0)
        self.filter = nn.Conv1d(width, width, 3, dilation=dilation)
        self.gate = nn.Conv1d(width, width, 3, dilation=dilation)
        self.skip, self.residual = nn.Conv1d(width, width, 1), nn.Conv1d(width, width, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """float32[N, width, T] -> what goes on and what is skipped to the end, both of the same shape."""
        padded = self.pad(x)
        gated = torch.tanh(self.filter(padded)) * torch.sigmoid(self.gate(padded))
        return x + self.residual(gated), self.skip(gated)


class TemporalNetwork(nn.Module):
    """Bai et al. 2018, section 3, with the gates of WaveNet, dilations 1 to 8."""

    def __init__(self, width: int = 12, before: int = 4, after: int = 5) -> None:
        super().__init__()
        self.start = nn.Conv1d(before, width, 1)
        self.layers = nn.ModuleList(GatedResidual(width, dilation) for dilation in (1, 2, 4, 8))
        self.hidden, self.head = nn.Conv1d(width, width, 1), nn.Conv1d(width, after, 1)

    def forward(self, signal: torch.Tensor) -> torch.Tensor:
        """float32[N, 4, T] -> class scores at each step, float32[N, 5, T], none of which depends on later steps."""
        x = self.start(signal)
        total: torch.Tensor | None = None
        for layer in self.layers:
            x, skipped = layer(x)
            total = skipped if total is None else total + skipped
        assert total is not None
        return self.head(nn.functional.leaky_relu(self.hidden(nn.functional.leaky_relu(total)), 0.2))


class FilmNetwork(nn.Module):
    """Tran et al. 2015, figure 3, a sixteenth as wide, for eight frames of 16 pixels, with normalisation."""

    def __init__(self, width: int = 4, classes: int = 6) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv3d(3, width, 3, 1, 1), nn.BatchNorm3d(width), nn.ReLU(), nn.MaxPool3d((1, 2, 2)),
            nn.Conv3d(width, 2 * width, 3, 1, 1), nn.BatchNorm3d(2 * width), nn.ReLU(), nn.MaxPool3d(2),
            nn.Conv3d(2 * width, 4 * width, (3, 1, 3), 1, (1, 0, 1), groups=2), nn.Hardswish(), nn.AvgPool3d(2),
        )  # fmt: skip
        self.up = nn.ConvTranspose3d(4 * width, 2 * width, 2, 2)
        self.head = nn.Linear(2 * width, classes)

    def forward(self, film: torch.Tensor) -> torch.Tensor:
        """float32[N, 3, 8, 16, 16] -> class scores, float32[N, 6]."""
        x = torch.relu(self.up(self.features(film)))
        return self.head(x.amax((2, 3, 4)))


def tcn() -> Seed:
    steps = np.arange(48)
    rng = np.random.default_rng(35)
    waves = np.sin(steps / rng.uniform(1, 8, (6, 1, 4, 1)) + rng.uniform(0, 6, (6, 1, 4, 1)))
    signal = (waves + rng.normal(0, 0.2, waves.shape)).astype(np.float32)
    return untrained.from_torch(
        "tcn",
        "Temporal convolutional network: dilated causal convolutions, gates, skips summed at the end, named length",
        "Bai, Kolter, Koltun: An Empirical Evaluation of Generic Convolutional and Recurrent Networks, 2018, part 3; "
        "van den Oord et al.: WaveNet, 2016, section 2.3",
        TemporalNetwork(),
        {"signal": signal},
        [Input("signal", -2.0, 2.0, "four channels over time")],
        {"scores": "score of each class at each step"},
        named={"signal": ["batch", None, "length"], "scores": ["batch", None, "length"]},
        seed=35,
    )


def film() -> Seed:
    return untrained.from_torch(
        "film",
        "3-D convolutional network: Conv, BatchNormalization, MaxPool and ConvTranspose over time and space, HardSwish",
        "Tran et al.: Learning Spatiotemporal Features with 3D Convolutional Networks, 2015, figure 3",
        FilmNetwork(),
        {"film": images.gratings(6, (3, 8, 16, 16), 36)},
        [Input("film", 0.0, 1.0, "brightness of each pixel of each frame in each channel")],
        {"scores": "score of each class"},
        kept=2,
        seed=36,
    )
