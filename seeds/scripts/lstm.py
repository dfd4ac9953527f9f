"""An LSTM classifier that reads a digit row by row."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from . import digits, torch_export, training
from .seed import Input, Seed


class LSTMClassifier(nn.Module):
    """Embedding of pixel counts, one LSTM layer, a dense layer on its last step."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(digits.MAX_PIXEL + 1, 4)
        self.lstm = nn.LSTM(8 * 4, 48, batch_first=True)
        self.classifier = nn.Linear(48, 10)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """int64[N, 8 time steps, 8 pixels], 0..16 -> class scores, float32[N, 10]."""
        steps = torch.flatten(self.embedding(rows), 2)
        hidden, _ = self.lstm(steps)
        return self.classifier(hidden[:, -1])


def build() -> Seed:
    """Train, export and describe."""
    data = digits.load()
    rows = data.train.astype(np.int64)
    model = training.fit(LSTMClassifier, [rows], data.train_labels, epochs=30, rate=1e-2)
    samples = data.test.astype(np.int64)
    return Seed(
        name="lstm",
        title="LSTM classifier: embedding of integers, LSTM layer with computed initial state, dense on the last step",
        origin="defined in PyTorch, trained on the rows of scikit-learn's digits, exported by torch.onnx",
        reference="Hochreiter, Schmidhuber: Long Short-Term Memory, 1997, with the forget gate of Gers et al., 2000",
        model=torch_export.export(
            model,
            {"rows": torch.from_numpy(samples[:1])},
            output="scores",
            named={"rows": ["batch"], "scores": ["batch"]},
        ),
        inputs=(Input("rows", 0, digits.MAX_PIXEL, "ink of each pixel, a row a time step; indexes the embedding"),),
        output="score of each digit, before softmax",
        samples={"rows": samples},
        labels=data.test_labels,
    )
