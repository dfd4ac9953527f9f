"""A small residual network, trained on the digits."""

from __future__ import annotations

import torch
from torch import nn

from . import digits, torch_export, training
from .seed import Input, Seed


class BasicBlock(nn.Module):
    """Two 3x3 convolutions around a shortcut, which is a strided 1x1 convolution where the shape changes."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.relu = nn.ReLU()
        self.downsample: nn.Module | None = None
        if stride != 1 or before != after:
            self.downsample = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """float32[N, before, H, W] -> float32[N, after, H/stride, W/stride]."""
        shortcut = x if self.downsample is None else self.downsample(x)
        y = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(y)) + shortcut)


class ResNet(nn.Module):
    """He et al. 2016, section 4.2 (the CIFAR-10 form) with n = 2 and half the width."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.layer1 = nn.Sequential(BasicBlock(8, 8, 1), BasicBlock(8, 8, 1))
        self.layer2 = nn.Sequential(BasicBlock(8, 16, 2), BasicBlock(16, 16, 1))
        self.layer3 = nn.Sequential(BasicBlock(16, 32, 2), BasicBlock(32, 32, 1))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(32, 10)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """float32[N, 1, 16, 16] -> class scores, float32[N, 10]."""
        x = torch.relu(self.bn1(self.conv1(image)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def build() -> Seed:
    """Train, export and describe."""
    data = digits.load()
    model = training.fit(ResNet, [digits.enlarge(data.train, 2, 0)], data.train_labels, epochs=8, rate=1e-2)
    samples = digits.enlarge(data.test, 2, 0)
    return Seed(
        name="resnet",
        title="Residual network: six basic blocks with BatchNormalization, two strided shortcuts, global average pool",
        origin="defined in PyTorch, trained on scikit-learn's digits (8x8, enlarged to 16x16), exported by torch.onnx",
        reference="He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition, 2016, section 4.2",
        model=torch_export.export(model, {"image": torch.from_numpy(samples[:1])}, output="scores"),
        inputs=(Input("image", 0.0, 1.0, "ink, 0 is paper and 1 is full"),),
        output="score of each digit, before softmax",
        samples={"image": samples},
        labels=data.test_labels,
    )
