"""Train a small PyTorch classifier on labelled arrays, the same way every time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import nn


def fit(
    make: Callable[[], nn.Module],
    inputs: Sequence[np.ndarray],
    labels: np.ndarray,
    *,
    epochs: int,
    rate: float,
    batch: int = 64,
    seed: int = 0,
) -> nn.Module:
    """Build and train a classifier with Adam, a one-cycle rate and cross entropy.

    Args:
        make: builds the untrained model; it is called after the random generator was seeded.
        inputs: one array a model input, samples on the first axis.
        labels: int64[N].
        epochs: passes over the data.
        rate: the highest learning rate.
        batch: samples a step; an incomplete last batch is dropped.
        seed: of the weights and of the order of samples.

    Returns:
        The model in evaluation mode.
    """
    # One thread and deterministic kernels: sums are taken in one order, so bytes repeat.
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(mode=True)
    torch.manual_seed(seed)
    model = make().train()
    arrays = [torch.from_numpy(a) for a in inputs]
    targets = torch.from_numpy(labels)
    steps = len(targets) // batch
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=epochs * steps)
    for _ in range(epochs):
        order = torch.randperm(len(targets))
        for step in range(steps):
            picked = order[step * batch : (step + 1) * batch]
            scores = model(*(a[picked] for a in arrays))
            loss = nn.functional.cross_entropy(scores, targets[picked], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return model.eval()
