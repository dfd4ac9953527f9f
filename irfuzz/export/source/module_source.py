"""What an exporter gives: the text of a module and the arrays that it reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class ModuleSource:
    """A program as a framework's module.

    Attributes:
        source: text of a Python module that imports only numpy and the framework. It defines
            ``forward(weights, inputs) -> outputs`` on dictionaries of tensors (sequences are lists,
            empty optionals ``None``) and ``run(arrays, inputs) -> outputs`` on dictionaries of arrays.
        arrays: initializers and large constants by name; bfloat16 ones as ``uint16`` bit patterns, so
            that ``numpy.savez`` keeps them.
        inputs: names of the graph inputs that must be given.
        outputs: names of the graph outputs, in order.
    """

    source: str
    arrays: dict[str, np.ndarray]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
