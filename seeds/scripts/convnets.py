"""Plain and densely connected convolutional networks of image classification: AlexNet, VGG-16, DenseNet-121."""

from __future__ import annotations

import torch
from torch import nn

from . import untrained
from .seed import Seed


class AlexNet(nn.Module):
    """Krizhevsky 2014, figure 1 (one tower), an eighth as wide, for images of 63 pixels."""

    def __init__(self, width: int = 8, classes: int = 10) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, width, 11, 4, 2), nn.ReLU(), nn.MaxPool2d(3, 2),
            nn.Conv2d(width, 3 * width, 5, 1, 2), nn.ReLU(), nn.MaxPool2d(3, 2),
            nn.Conv2d(3 * width, 6 * width, 3, 1, 1), nn.ReLU(),
            nn.Conv2d(6 * width, 4 * width, 3, 1, 1), nn.ReLU(),
            nn.Conv2d(4 * width, 4 * width, 3, 1, 1), nn.ReLU(), nn.MaxPool2d(2, 1),
        )  # fmt: skip
        self.classifier = nn.Sequential(
            nn.Dropout(), nn.Linear(16 * width, 8 * width), nn.ReLU(),
            nn.Dropout(), nn.Linear(8 * width, 8 * width), nn.ReLU(), nn.Linear(8 * width, classes),
        )  # fmt: skip

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """float32[N, 3, 63, 63] -> class scores, float32[N, 10]."""
        return self.classifier(torch.flatten(self.features(image), 1))


class VGG16(nn.Module):
    """Simonyan and Zisserman 2015, table 1, column D, a sixteenth as wide, for images of 32 pixels."""

    def __init__(self, width: int = 4, classes: int = 10) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        before = 3
        for factor, count in ((1, 2), (2, 2), (4, 3), (8, 3), (8, 3)):
            for _ in range(count):
                layers += [nn.Conv2d(before, factor * width, 3, 1, 1), nn.ReLU()]
                before = factor * width
            layers.append(nn.MaxPool2d(2, 2))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Linear(before, 2 * before), nn.ReLU(), nn.Linear(2 * before, 2 * before), nn.ReLU(),
            nn.Linear(2 * before, classes),
        )  # fmt: skip

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """float32[N, 3, 32, 32] -> class scores, float32[N, 10]."""
        return self.classifier(torch.flatten(self.features(image), 1))


class DenseLayer(nn.Module):
    """Bottleneck of Huang et al. 2017, section 3 (DenseNet-B): its output is appended to what it read."""

    def __init__(self, before: int, growth: int) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(before)
        self.conv1 = nn.Conv2d(before, 4 * growth, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(4 * growth)
        self.conv2 = nn.Conv2d(4 * growth, growth, 3, 1, 1, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """float32[N, before, H, W] -> float32[N, before + growth, H, W]."""
        y = self.conv1(torch.relu(self.norm1(x)))
        return torch.cat([x, self.conv2(torch.relu(self.norm2(y)))], 1)


class DenseNet121(nn.Module):
    """Huang et al. 2017, table 1, with growth 2 instead of 32, for images of 32 pixels."""

    def __init__(self, growth: int = 2, classes: int = 10) -> None:
        super().__init__()
        width = 2 * growth
        layers: list[nn.Module] = [nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
        layers.append(nn.MaxPool2d(3, 2, 1))
        for block, count in enumerate((6, 12, 24, 16)):
            if block:
                layers += [nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, width // 2, 1, bias=False)]
                layers.append(nn.AvgPool2d(2, 2, ceil_mode=True))
                width //= 2
            for _ in range(count):
                layers.append(DenseLayer(width, growth))
                width += growth
        self.features = nn.Sequential(*layers, nn.BatchNorm2d(width), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.classifier = nn.Linear(width, classes)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """float32[N, 3, 32, 32] -> class scores, float32[N, 10]."""
        return self.classifier(torch.flatten(self.features(image), 1))


def alexnet() -> Seed:
    return untrained.classifier(
        "alexnet",
        "AlexNet: five convolutions with large strides and kernels, overlapping pools, three dense layers",
        "Krizhevsky: One Weird Trick for Parallelizing Convolutional Neural Networks, 2014, figure 1",
        AlexNet(),
        (3, 63, 63),
        seed=1,
    )


def vgg16() -> Seed:
    return untrained.classifier(
        "vgg16",
        "VGG-16: thirteen 3x3 convolutions in five stages, three dense layers",
        "Simonyan, Zisserman: Very Deep Convolutional Networks for Large-Scale Image Recognition, 2015, table 1, D",
        VGG16(),
        (3, 32, 32),
        seed=2,
    )


def densenet121() -> Seed:
    return untrained.classifier(
        "densenet121",
        "DenseNet-121: 58 bottleneck layers in four blocks, each appended by Concat to all before it",
        "Huang, Liu, van der Maaten, Weinberger: Densely Connected Convolutional Networks, 2017, table 1",
        DenseNet121(),
        (3, 32, 32),
        seed=3,
    )
