"""Random digits in place of MNIST, in every form in which the programs of GRIST's data set ask for them."""

from __future__ import annotations

import gzip
import types
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

EXAMPLES = 256
FILES = ("train-images", "train-labels", "t10k-images", "t10k-labels")
"""How the names of MNIST's files begin."""


def pictures() -> np.ndarray:
    """Random pictures between 0 and 1; as in MNIST, many pixels are 0 or 1."""
    found = np.random.default_rng(29).random((EXAMPLES, 784)).astype(np.float32)
    found[:, ::3] = 0
    found[:, 1::7] = 1
    return found


def classes() -> np.ndarray:
    """Of the pictures."""
    return np.random.default_rng(30).integers(0, 10, EXAMPLES)


class Split:
    """A part of MNIST."""

    def __init__(self, one_hot: bool, reshape: bool) -> None:
        self.images = pictures() if reshape else pictures().reshape(-1, 28, 28, 1)
        self.labels = np.eye(10, dtype=np.float64)[classes()] if one_hot else classes()
        self.num_examples = EXAMPLES

    def next_batch(self, count: int, *_: Any, **__: Any) -> tuple[np.ndarray, np.ndarray]:
        """The first ones, again and again."""
        places = np.arange(count) % EXAMPLES
        return self.images[places], self.labels[places]


def read_data_sets(*_: Any, one_hot: bool = False, reshape: bool = True, **__: Any) -> Any:
    """As TensorFlow's example module has it."""
    parts = {name: Split(one_hot, reshape) for name in ("train", "validation", "test")}
    return types.SimpleNamespace(**parts)


def torch_pictures(*_: Any, **__: Any) -> Any:
    """As ``torchvision.datasets.MNIST`` has it, with the transform to tensors."""
    import torch

    images = torch.from_numpy(pictures().reshape(-1, 1, 28, 28))
    return torch.utils.data.TensorDataset(images, torch.from_numpy(classes()))


def fetch_openml(*_: Any, **__: Any) -> Any:
    """As scikit-learn has it: bytes as numbers, and classes as text."""
    return types.SimpleNamespace(data=np.rint(pictures() * 255).astype(np.float64), target=classes().astype(str))


def load_data(*_: Any, **__: Any) -> Any:
    """As Keras has it: training and test pictures as bytes, each with their classes."""
    part = np.rint(pictures() * 255).astype(np.uint8).reshape(-1, 28, 28), classes().astype(np.uint8)
    return part, part


def file_of(name: str) -> bytes:
    """One of MNIST's files, packed.

    Raises:
        urllib.error.URLError: nothing is downloaded.
    """
    if not name.startswith(FILES):
        raise urllib.error.URLError(f"{name} is not downloaded")
    if "images" in name:
        head, body = (2051, EXAMPLES, 28, 28), np.rint(pictures() * 255)
    else:
        head, body = (2049, EXAMPLES), classes()
    return gzip.compress(np.array(head, ">i4").tobytes() + body.astype(np.uint8).tobytes())


def urlretrieve(url: str, filename: str, *_: Any, **__: Any) -> tuple[str, None]:
    """As ``urllib.request`` has it.

    Raises:
        urllib.error.URLError: what is asked for is no file of MNIST.
    """
    Path(filename).write_bytes(file_of(url.rpartition("/")[2]))
    return filename, None


def take_downloads() -> None:
    """Let MNIST's files come from here, and nothing from elsewhere."""
    urllib.request.urlretrieve = urlretrieve  # type: ignore[assignment]
