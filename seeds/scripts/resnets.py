"""Residual networks in their published depth: ResNet-20 of CIFAR-10, ResNet-50 of ImageNet."""

from __future__ import annotations

import torch
from torch import nn

from . import untrained
from .resnet import BasicBlock
from .seed import Seed


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions around a shortcut (He et al. 2016, figure 5), strided in the 3x3."""

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        after = 4 * width
        self.conv1 = nn.Conv2d(before, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, after, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(after)
        self.downsample: nn.Module | None = None
        if stride != 1 or before != after:
            self.downsample = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """float32[N, before, H, W] -> float32[N, 4 * width, H/stride, W/stride]."""
        shortcut = x if self.downsample is None else self.downsample(x)
        y = torch.relu(self.bn1(self.conv1(x)))
        y = torch.relu(self.bn2(self.conv2(y)))
        return torch.relu(self.bn3(self.conv3(y)) + shortcut)


class ResNet20(nn.Module):
    """He et al. 2016, section 4.2, with n = 3 and a quarter of the width."""

    def __init__(self, width: int = 4, classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
        sizes = [(width, width, 1)] * 3
        sizes += [(width, 2 * width, 2)] + [(2 * width, 2 * width, 1)] * 2
        sizes += [(2 * width, 4 * width, 2)] + [(4 * width, 4 * width, 1)] * 2
        self.blocks = nn.Sequential(*(BasicBlock(*size) for size in sizes))
        self.fc = nn.Linear(4 * width, classes)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """float32[N, 3, 32, 32] -> class scores, float32[N, 10]."""
        return self.fc(self.blocks(self.stem(image)).mean((2, 3)))


class ResNet50(nn.Module):
    """He et al. 2016, table 1, in three channels where the paper has 64, for images of 64 pixels."""

    def __init__(self, width: int = 3, classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU())
        self.pool = nn.MaxPool2d(3, 2, 1)
        blocks: list[nn.Module] = []
        before = width
        for stage, count in enumerate((3, 4, 6, 3)):
            for index in range(count):
                blocks.append(Bottleneck(before, width << stage, 2 if stage and not index else 1))
                before = 4 * (width << stage)
        self.blocks = nn.Sequential(*blocks)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(before, classes)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """float32[N, 3, 64, 64] -> class scores, float32[N, 10]."""
        return self.fc(torch.flatten(self.avgpool(self.blocks(self.pool(self.stem(image)))), 1))


def resnet20() -> Seed:
    return untrained.classifier(
        "resnet20",
        "ResNet-20: nine basic blocks in three stages, mean over the axes of the image",
        "He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition, 2016, section 4.2",
        ResNet20(),
        (3, 32, 32),
        seed=4,
    )


def resnet50() -> Seed:
    return untrained.classifier(
        "resnet50",
        "ResNet-50: sixteen bottleneck blocks in four stages, global average pool",
        "He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition, 2016, table 1",
        ResNet50(),
        (3, 64, 64),
        seed=5,
    )
