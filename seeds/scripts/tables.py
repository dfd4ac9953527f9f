"""Networks on tables: a regression trained on scikit-learn's diabetes data, a recommender with embeddings."""

from __future__ import annotations

import numpy as np
import torch
from sklearn.datasets import load_diabetes
from torch import nn

from . import torch_export, untrained
from .seed import Data, Input, Seed

HELD_OUT = 90
"""Patients never trained on: a fifth of the 442."""


class Regression(nn.Module):
    """Standardise, two hidden layers, back to the scale of the targets."""

    def __init__(self, mean: np.ndarray, deviation: np.ndarray, centre: float, spread: float) -> None:
        super().__init__()
        self.register_buffer("mean", torch.from_numpy(mean))
        self.register_buffer("deviation", torch.from_numpy(deviation))
        self.centre, self.spread = centre, spread
        self.layers = nn.Sequential(nn.Linear(10, 24), nn.Softplus(), nn.Linear(24, 12), nn.SELU(), nn.Linear(12, 1))

    def forward(self, patient: torch.Tensor) -> torch.Tensor:
        """float32[N, 10] -> progression, float32[N, 1]."""
        return self.layers((patient - self.mean) / self.deviation) * self.spread + self.centre


class Recommender(nn.Module):
    """Naumov et al. 2019, figure 1: dense features and embeddings, products of all pairs, a probability."""

    def __init__(self, sizes: tuple[int, ...] = (50, 20, 7), width: int = 8) -> None:
        super().__init__()
        self.embeddings = nn.ModuleList(nn.Embedding(size, width) for size in sizes)
        self.bottom = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, width), nn.ReLU())
        count = len(sizes) + 1
        self.register_buffer("pairs", torch.tensor([i * count + j for i in range(count) for j in range(i)]))
        self.top = nn.Sequential(nn.Linear(width + count * (count - 1) // 2, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, dense: torch.Tensor, categories: torch.Tensor) -> torch.Tensor:
        """float32[N, 6] and int64[N, 3] -> probability of a click, float32[N, 1]."""
        x = self.bottom(dense)
        rows = [x, *(layer(categories[:, i]) for i, layer in enumerate(self.embeddings))]
        stacked = torch.stack(rows, 1)
        products = torch.matmul(stacked, stacked.transpose(1, 2)).flatten(1)
        return torch.sigmoid(self.top(torch.cat([x, products[:, self.pairs]], 1)))


def diabetes() -> Seed:
    """Train with Adam on squared errors, in one thread."""
    patients, progression = (np.asarray(a, np.float32) for a in load_diabetes(return_X_y=True, scaled=False))
    order = np.random.default_rng(2004).permutation(len(patients))
    test, train = order[:HELD_OUT], order[HELD_OUT:]
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(mode=True)
    torch.manual_seed(0)
    x, y = patients[train], progression[train]
    model = Regression(x.mean(0), x.std(0), float(y.mean()), float(y.std())).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=3e-3)
    inputs, targets = torch.from_numpy(x), torch.from_numpy(y)
    for _ in range(60):
        for batch in torch.randperm(len(train)).split(32):
            loss = ((model(inputs[batch])[:, 0] - targets[batch]) / model.spread).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return Seed(
        name="diabetes",
        title="Regression: standardised columns, Softplus and SELU, one real output, named batch",
        origin="defined in PyTorch, trained on scikit-learn's diabetes data, exported by torch.onnx",
        reference="Rumelhart, Hinton, Williams: Learning Representations by Back-propagating Errors, 1986",
        model=torch_export.export(
            model.eval(),
            {"patient": inputs[:1]},
            output="progression",
            named={"patient": ["batch"], "progression": ["batch"]},
        ),
        inputs=(
            Input("patient", 0.0, 350.0, "age, sex, body mass index, blood pressure and six values of blood serum"),
        ),
        output="progression of the disease after a year",
        samples={"patient": patients[test]},
        labels=progression[test],
        data=Data(
            "Efron, Hastie, Johnstone, Tibshirani: Least Angle Regression, 2004, as shipped by scikit-learn",
            "BSD-3-Clause",
        ),
    )


def recommender() -> Seed:
    rng = np.random.default_rng(37)
    model = Recommender()
    sizes = [layer.num_embeddings for layer in model.embeddings if isinstance(layer, nn.Embedding)]
    # One range serves all columns, so the smallest table bounds it.
    categories = rng.integers(0, min(sizes), (6, 1, len(sizes)))
    return untrained.from_torch(
        "recommender",
        "Recommender: embeddings by Gather, products of all pairs, Concat, Sigmoid, named batch",
        "Naumov et al.: Deep Learning Recommendation Model for Personalization and Recommendation Systems, 2019",
        model,
        {"dense": rng.standard_normal((6, 1, 6)).astype(np.float32), "categories": categories},
        [
            Input("dense", -3.0, 3.0, "real properties"),
            Input("categories", 0, min(sizes) - 1, "user, thing and place; index the embeddings"),
        ],
        {"click": "probability of a click"},
        named={"dense": ["batch"], "categories": ["batch"], "click": ["batch"]},
        width="in small",
        seed=37,
    )
