"""Prints the calls that the PyTorch source in a finding's folder makes for its inputs, one a line.

Run by path, in a process of its own: ``python -P torch_call_listing.py FOLDER`` prints JSON, or an error. What the
source reads out of tensors (sizes, conditions) is written down as it was.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode, resolve_name

OPERATORS = {
    "__add__": "+", "__sub__": "-", "__mul__": "*", "__truediv__": "/", "__floordiv__": "//", "__mod__": "%",
    "__pow__": "**", "__matmul__": "@", "__and__": "&", "__or__": "|", "__xor__": "^", "__lshift__": "<<",
    "__rshift__": ">>", "__eq__": "==", "__ne__": "!=", "__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">=",
    "add": "+", "sub": "-", "mul": "*", "div": "/", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">",
    "ge": ">=",
}  # fmt: skip
"""Methods of two operands that are written as operators; those without underscores where nothing else is given."""

REVERSED = {
    "__radd__": "+", "__rsub__": "-", "__rmul__": "*", "__rtruediv__": "/", "__rfloordiv__": "//", "__rmod__": "%",
}  # fmt: skip
"""The same of a number and a tensor."""

UNARY = {"__invert__": "~", "__neg__": "-", "neg": "-"}


class Untold(Exception):
    """Something that cannot be written as a line of source."""


class Calls(TorchFunctionMode):
    """Writes down each call that gives tensors, or changes one.

    Attributes:
        lines: ``(names that it gives, names that it needs, source)``; a line without names changes a tensor.
    """

    def __init__(self, names: dict[str, torch.Tensor]) -> None:
        super().__init__()
        self.lines: list[tuple[list[str], list[str], str]] = []
        self._held = dict(names)
        self._names = {id(tensor): name for name, tensor in names.items()}
        self._count = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = func(*args, **kwargs)
        found = list(_tensors(given))
        called = resolve_name(func) or ""
        changes = called.endswith("__setitem__") or (called.endswith("_") and not called.endswith("__"))
        if not found and not changes:
            return given
        needed: list[str] = []
        text = self._call(called, args, kwargs, needed)
        if changes and called.endswith("__setitem__"):
            self.lines.append(([], needed, text))
            return given
        fresh = [t for t in found if id(t) not in self._names]
        if not fresh and not changes:
            return given  # a tensor as it is, such as x.to(its own type)
        made: list[str] = []
        form = self._form(given, made)
        self.lines.append(([] if changes else made, needed, f"{form} = {text}"))
        return given

    def name(self, tensor: torch.Tensor) -> str:
        """What a tensor is called.

        Raises:
            Untold: it came from somewhere else.
        """
        found = self._names.get(id(tensor))
        if found is None:
            raise Untold("a tensor that no call gave")
        return found

    def _form(self, given: Any, made: list[str]) -> str:
        """Where the tensors of a result go."""
        if isinstance(given, torch.Tensor):
            name = self._names.get(id(given))
            if name is None:
                self._count += 1
                name = self._names[id(given)] = f"t{self._count}"
                self._held[name] = given  # an id means something as long as its object lives
            made.append(name)
            return name
        if isinstance(given, (list, tuple)):
            items = [self._form(item, made) for item in given]
            return f"{items[0]}," if len(items) == 1 else ", ".join(items)
        return "_"

    def _call(self, called: str, args: Any, kwargs: dict[str, Any], needed: list[str]) -> str:
        _, _, method = called.rpartition(".")
        words = [self._text(value, needed) for value in args]
        more = [f"{key}={self._text(value, needed)}" for key, value in kwargs.items()]
        if called.endswith(".__get__"):
            return f"{words[0]}.{called.split('.')[-2]}"
        if not called.startswith("torch."):
            raise Untold(f"a call of {called or 'no name'}")
        if not called.startswith("torch.Tensor."):
            return f"{called}({', '.join([*words, *more])})"
        if method in ("__getitem__", "__setitem__"):
            place = self._index(args[1], needed)
            return f"{words[0]}[{place}]" + (f" = {words[2]}" if method == "__setitem__" else "")
        if method in OPERATORS and len(words) == 2 and not more:
            return f"{words[0]} {OPERATORS[method]} {words[1]}"
        if method in REVERSED and len(words) == 2 and not more:
            return f"{words[1]} {REVERSED[method]} {words[0]}"
        if method in UNARY and len(words) == 1 and not more:
            return f"{UNARY[method]}{words[0]}"
        return f"{words[0]}.{method}({', '.join([*words[1:], *more])})"

    def _index(self, place: Any, needed: list[str]) -> str:
        """What stands between brackets."""
        if not isinstance(place, tuple):
            return self._text(place, needed)
        items = [self._text(item, needed) for item in place]
        return f"{items[0]}," if len(items) == 1 else ", ".join(items) or "()"

    def _text(self, value: Any, needed: list[str]) -> str:
        """A value as source."""
        if isinstance(value, torch.Tensor):
            name = self.name(value)
            needed.append(name)
            return name
        if isinstance(value, slice):
            ends = [value.start, value.stop, *([] if value.step is None else [value.step])]
            return ":".join("" if end is None else self._text(end, needed) for end in ends)
        if isinstance(value, (list, tuple)):
            inside = ", ".join(self._text(item, needed) for item in value)
            if isinstance(value, list):
                return f"[{inside}]"
            return f"({inside},)" if len(value) == 1 else f"({inside})"
        if value is Ellipsis:
            return "..."
        if isinstance(value, torch.device):
            return repr(str(value))
        if isinstance(value, (np.integer, np.floating, np.bool_)):
            value = value.item()
        if isinstance(value, float):
            return repr(value) if value - value == 0 else f"float({str(value)!r})"
        if value is None or isinstance(value, (bool, int, str)):
            return repr(value)
        if isinstance(value, (torch.dtype, torch.memory_format, torch.layout)):
            return str(value)
        raise Untold(f"an argument of type {type(value).__name__}")


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def needed_lines(lines: list[tuple[list[str], list[str], str]], outputs: list[str]) -> tuple[list[str], set[str]]:
    """The lines that the outputs depend on, in their order, and every name that they use.

    What changes a tensor in place stays: which names look at the same memory is not known.
    """
    wanted = set(outputs)
    kept: list[str] = []
    for gives, needs, text in reversed(lines):
        if not gives or wanted & set(gives):
            wanted.update(needs)
            kept.append(text)
    return kept[::-1], wanted


def main(folder: Path) -> dict[str, Any]:
    """The calls of ``torch_model.py`` in a folder.

    Returns:
        ``arguments`` (names in the function, by input), ``weights`` (names by name of the array), ``body`` (lines) and
        ``outputs`` (``[name, source]`` in their order).
    """
    names: dict[str, Any] = {"__name__": "generated"}
    exec(compile((folder / "torch_model.py").read_text(), "<generated>", "exec"), names)  # noqa: S102 - see above
    arrays, inputs = load(folder / "torch_weights.npz"), load(folder / "inputs.npz")
    weights, given = names["tensors"](arrays, inputs)
    called = {name: f"x{place}" for place, name in enumerate(given)}
    held = {name: f"w{place}" for place, name in enumerate(weights)}
    known = {called[name]: tensor for name, tensor in given.items()}
    known.update({held[name]: tensor for name, tensor in weights.items()})
    if any(not isinstance(tensor, torch.Tensor) for tensor in known.values()):
        raise Untold("a sequence or an optional")
    with torch.no_grad(), Calls(known) as calls:
        found = names["forward"](weights, given)
    outputs = [[name, calls.name(tensor)] for name, tensor in found.items()]
    body, used = needed_lines(calls.lines, [source for _, source in outputs])
    return {
        "arguments": called,
        "weights": {name: place for name, place in held.items() if place in used},
        "body": body,
        "outputs": outputs,
    }


def load(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file by name."""
    with np.load(path, allow_pickle=False) as members:
        names = [name for name in members.files if name != "__irfuzz__"]
        return {name.removesuffix(".npy"): members[name] for name in names}


if __name__ == "__main__":
    try:
        print(json.dumps(main(Path(sys.argv[1]))))
    except Untold as error:
        sys.exit(f"not told: {error}")
