"""LeNet-5, trained on the digits."""

from __future__ import annotations

import torch
from torch import nn

from . import digits, torch_export, training
from .seed import Input, Seed


class LeNet5(nn.Module):
    """Layers C1 to F6 of LeCun et al. 1998, section II.B, with full connections in C3 and a linear output layer."""

    def __init__(self) -> None:
        super().__init__()
        self.c1 = nn.Conv2d(1, 6, 5)
        self.s2 = nn.AvgPool2d(2)
        self.c3 = nn.Conv2d(6, 16, 5)
        self.s4 = nn.AvgPool2d(2)
        self.c5 = nn.Conv2d(16, 120, 5)
        self.f6 = nn.Linear(120, 84)
        self.output = nn.Linear(84, 10)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """float32[N, 1, 32, 32] -> class scores, float32[N, 10]."""
        x = self.s2(torch.tanh(self.c1(image)))
        x = self.s4(torch.tanh(self.c3(x)))
        x = torch.flatten(torch.tanh(self.c5(x)), 1)
        return self.output(torch.tanh(self.f6(x)))


def build() -> Seed:
    """Train, export and describe."""
    data = digits.load()
    model = training.fit(LeNet5, [digits.enlarge(data.train, 3, 4)], data.train_labels, epochs=12, rate=4e-3)
    samples = digits.enlarge(data.test, 3, 4)
    return Seed(
        name="lenet5",
        title="LeNet-5: two convolutions with average pooling, three dense layers, tanh",
        origin="defined in PyTorch, trained on scikit-learn's digits (8x8, enlarged to 32x32), exported by torch.onnx",
        reference="LeCun, Bottou, Bengio, Haffner: Gradient-Based Learning Applied to Document Recognition, 1998, II.B",
        model=torch_export.export(model, {"image": torch.from_numpy(samples[:1])}, output="scores"),
        inputs=(Input("image", 0.0, 1.0, "ink, 0 is paper and 1 is full"),),
        output="score of each digit, before softmax",
        samples={"image": samples},
        labels=data.test_labels,
    )
