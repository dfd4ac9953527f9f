"""Convolutional networks for small devices: MobileNetV2, ShuffleNetV2 and EfficientNet."""

from __future__ import annotations

import torch
from torch import nn

from . import untrained
from .seed import Seed


def normed(before: int, after: int, size: int = 1, stride: int = 1, groups: int = 1) -> list[nn.Module]:
    """A convolution that keeps sizes but for its stride, and BatchNormalization."""
    return [nn.Conv2d(before, after, size, stride, size // 2, groups=groups, bias=False), nn.BatchNorm2d(after)]


class InvertedResidual(nn.Module):
    """Sandler et al. 2018, table 1: expand, filter each channel, project without activation."""

    def __init__(self, before: int, after: int, stride: int, expansion: int) -> None:
        super().__init__()
        inner = before * expansion
        layers = [*normed(before, inner), nn.ReLU6()] if expansion > 1 else []
        layers += [*normed(inner, inner, 3, stride, inner), nn.ReLU6(), *normed(inner, after)]
        self.layers = nn.Sequential(*layers)
        self.shortcut = stride == 1 and before == after

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """float32[N, before, H, W] -> float32[N, after, H/stride, W/stride]."""
        return x + self.layers(x) if self.shortcut else self.layers(x)


class MobileNetV2(nn.Module):
    """Sandler et al. 2018, table 2, an eighth as wide, for images of 32 pixels (the stem keeps their size)."""

    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        layers = [*normed(3, 4, 3), nn.ReLU6()]
        before = 4
        table = ((1, 2, 1, 1), (6, 3, 2, 2), (6, 4, 3, 2), (6, 8, 4, 2), (6, 12, 3, 1), (6, 20, 3, 2), (6, 40, 1, 1))
        for expansion, after, count, stride in table:
            for index in range(count):
                layers.append(InvertedResidual(before, after, 1 if index else stride, expansion))
                before = after
        self.features = nn.Sequential(*layers, *normed(before, 80), nn.ReLU6(), nn.AdaptiveAvgPool2d(1))
        self.classifier = nn.Linear(80, classes)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """float32[N, 3, 32, 32] -> class scores, float32[N, 10]."""
        return self.classifier(torch.flatten(self.features(image), 1))


class ShuffleUnit(nn.Module):
    """Ma et al. 2018, figure 3 (c) and (d): half of the channels pass by, or all are filtered twice; then a shuffle."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        half = after // 2
        self.stride = stride
        inner = before if stride == 2 else half
        self.branch = nn.Sequential(
            *normed(inner, half), nn.ReLU(), *normed(half, half, 3, stride, half), *normed(half, half), nn.ReLU()
        )
        self.shortcut = nn.Sequential(*normed(before, before, 3, 2, before), *normed(before, half), nn.ReLU())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """float32[N, before, H, W] -> float32[N, after, H/stride, W/stride]."""
        if self.stride == 2:
            y = torch.cat([self.shortcut(x), self.branch(x)], 1)
        else:
            kept, read = x.chunk(2, 1)
            y = torch.cat([kept, self.branch(read)], 1)
        batch, channels, height, width = y.shape
        y = y.view(batch, 2, channels // 2, height, width).transpose(1, 2)
        return y.reshape(batch, channels, height, width)


class ShuffleNetV2(nn.Module):
    """Ma et al. 2018, table 5, in a quarter of the depth and width of 0.5x, for images of 32 pixels."""

    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        layers: list[nn.Module] = [*normed(3, 8, 3), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
        before = 8
        for after, count in ((12, 2), (24, 2), (48, 2)):
            for index in range(count):
                layers.append(ShuffleUnit(before, after, 1 if index else 2))
                before = after
        self.features = nn.Sequential(*layers, *normed(before, 64), nn.ReLU())
        self.classifier = nn.Linear(64, classes)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """float32[N, 3, 32, 32] -> class scores, float32[N, 10]."""
        return self.classifier(self.features(image).mean([2, 3]))


class SqueezeExcitation(nn.Module):
    """Hu et al. 2018, figure 2, with Swish, as 1x1 convolutions."""

    def __init__(self, channels: int, inner: int) -> None:
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.reduce = nn.Conv2d(channels, inner, 1)
        self.expand = nn.Conv2d(inner, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """float32[N, C, H, W], each channel weighted by a number between 0 and 1."""
        y = nn.functional.silu(self.reduce(self.pool(x)))
        return x * torch.sigmoid(self.expand(y))


class MBConv(nn.Module):
    """Tan and Le 2019, table 1: an inverted residual with Swish and squeeze and excitation."""

    def __init__(self, before: int, after: int, size: int, stride: int, expansion: int) -> None:
        super().__init__()
        inner = before * expansion
        layers = [*normed(before, inner), nn.SiLU()] if expansion > 1 else []
        layers += [*normed(inner, inner, size, stride, inner), nn.SiLU()]
        layers += [SqueezeExcitation(inner, max(2, before // 4)), *normed(inner, after)]
        self.layers = nn.Sequential(*layers)
        self.shortcut = stride == 1 and before == after

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """float32[N, before, H, W] -> float32[N, after, H/stride, W/stride]."""
        return x + self.layers(x) if self.shortcut else self.layers(x)


class EfficientNet(nn.Module):
    """Tan and Le 2019, table 1 (B0), an eighth as wide, at most two blocks a stage, for images of 32 pixels."""

    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        layers = [*normed(3, 4, 3), nn.SiLU()]
        before = 4
        table = (
            (1, 2, 1, 1, 3),
            (6, 3, 2, 2, 3),
            (6, 5, 2, 2, 5),
            (6, 10, 2, 2, 3),
            (6, 14, 2, 1, 5),
            (6, 24, 2, 2, 5),
        )
        for expansion, after, count, stride, size in (*table, (6, 40, 1, 1, 3)):
            for index in range(count):
                layers.append(MBConv(before, after, size, 1 if index else stride, expansion))
                before = after
        self.features = nn.Sequential(*layers, *normed(before, 80), nn.SiLU(), nn.AdaptiveAvgPool2d(1))
        self.classifier = nn.Linear(80, classes)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """float32[N, 3, 32, 32] -> class scores, float32[N, 10]."""
        return self.classifier(torch.flatten(self.features(image), 1))


def mobilenetv2() -> Seed:
    return untrained.classifier(
        "mobilenetv2",
        "MobileNetV2: seventeen inverted residuals with depthwise convolutions, ReLU6 by Clip",
        "Sandler et al.: MobileNetV2: Inverted Residuals and Linear Bottlenecks, 2018, table 2",
        MobileNetV2(),
        (3, 32, 32),
        seed=6,
    )


def shufflenetv2() -> Seed:
    return untrained.classifier(
        "shufflenetv2",
        "ShuffleNetV2: channel split, depthwise convolutions, channel shuffle by Reshape and Transpose",
        "Ma et al.: ShuffleNet V2: Practical Guidelines for Efficient CNN Architecture Design, 2018, table 5",
        ShuffleNetV2(),
        (3, 32, 32),
        seed=7,
    )


def efficientnet() -> Seed:
    return untrained.classifier(
        "efficientnet",
        "EfficientNet: inverted residuals with Swish and squeeze and excitation",
        "Tan, Le: EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks, 2019, table 1",
        EfficientNet(),
        (3, 32, 32),
        seed=8,
    )
