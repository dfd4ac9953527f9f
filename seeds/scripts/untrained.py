"""Describes networks with random weights, PyTorch modules or graphs, as seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import torch
from torch import nn

from . import images, torch_export, weights
from .seed import DRAWN, Input, Seed

PACKAGES = ("numpy", "onnx", "torch")
_HOW = "with weights drawn from a seeded generator and scaled so that values stay alive"


def from_torch(
    name: str,
    title: str,
    reference: str,
    module: nn.Module,
    samples: Mapping[str, np.ndarray],
    inputs: Sequence[Input],
    outputs: Mapping[str, str],
    *,
    named: Mapping[str, Sequence[str | None]] | None = None,
    kept: int = 4,
    width: str = "in reduced width",
    seed: int = 0,
) -> Seed:
    """Draw the weights of a module, export it and fit the weights to samples.

    Args:
        name: file stem.
        title: one line for a reader.
        reference: the definition it follows.
        module: as defined.
        samples: one array an input, counting samples on the first axis; all are used for fitting.
        inputs: what each input means.
        outputs: what each output means, by name.
        named: names of dimensions, as in ``torch_export.export``.
        kept: how many samples the seed keeps.
        width: what differs from the definition.
        seed: of the weights.
    """
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    weights.draw(module, seed)
    examples = {key: torch.from_numpy(array[0]) for key, array in samples.items()}
    exported = torch_export.export(module, examples, output=list(outputs), named=named)
    return Seed(
        name=name,
        title=title,
        origin=f"defined in PyTorch {width}, exported by torch.onnx, {_HOW}",
        reference=reference,
        model=weights.calibrate(exported, samples),
        inputs=tuple(inputs),
        output=tuple(outputs.values()),
        samples={key: array[:kept] for key, array in samples.items()},
        data=DRAWN,
        packages=PACKAGES,
    )


def by_hand(
    name: str,
    title: str,
    reference: str,
    model: onnx.ModelProto,
    samples: Mapping[str, np.ndarray],
    inputs: Sequence[Input],
    outputs: Sequence[str],
    *,
    fit: bool = True,
    kept: int = 4,
) -> Seed:
    """Describe a graph that its script wrote node by node, with fitted weights.

    Args:
        name: file stem.
        title: one line for a reader.
        reference: the definition it follows.
        model: as written.
        samples: one array an input, counting samples on the first axis.
        inputs: what each input means.
        outputs: what each output means.
        fit: scale weights to the samples.
        kept: how many samples the seed keeps.
    """
    return Seed(
        name=name,
        title=title,
        origin=f"written node by node by its script, {_HOW}",
        reference=reference,
        model=weights.calibrate(model, samples) if fit else model,
        inputs=tuple(inputs),
        output=tuple(outputs),
        samples={key: array[:kept] for key, array in samples.items()},
        data=DRAWN,
        packages=PACKAGES,
    )


def classifier(
    name: str, title: str, reference: str, module: nn.Module, shape: Sequence[int], *, seed: int = 0
) -> Seed:
    """A classifier of images.

    Args:
        name: file stem.
        title: one line for a reader.
        reference: the definition it follows.
        module: float32[1, *shape] to scores, float32[1, classes].
        shape: of an image, channels first.
        seed: of the weights.
    """
    return from_torch(
        name,
        title,
        reference,
        module,
        {"image": images.gratings(8, shape, seed)},
        [Input("image", 0.0, 1.0, "brightness of each pixel in each channel")],
        {"scores": "score of each class, before softmax"},
        kept=2,
        seed=seed,
    )
