"""Reads the TOML files that users write."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

from irfuzz.errors import InvalidProgram, UsageError
from irfuzz.frontends.regular_file_opening import read_plain

NOT_TOML = (ValueError, RecursionError)
"""What ``tomllib`` raises for what is no TOML, or has thousands of digits or brackets."""


def read_toml(path: Path, said: str, hint: str = "") -> dict[str, Any]:
    """The content of a file.

    Args:
        path: of the file.
        said: how messages begin: the path, perhaps behind the flag that named it.
        hint: what messages end with if the file cannot be read, such as ``"; expected ..."``.

    Raises:
        UsageError: it cannot be read, or is no TOML.
    """
    try:
        text = read_plain(path)
    except InvalidProgram as error:
        raise UsageError(f"{said}: cannot be read: {error}{hint}") from None
    try:
        return tomllib.loads(text.decode())
    except NOT_TOML as error:
        raise UsageError(f"{said}: not TOML: {error}") from None


def is_table(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether what stands in a TOML or JSON file, or will stand there, is a table: its keys are texts."""
    return isinstance(value, Mapping)


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether what stands in a TOML or JSON file, or will stand there, is a list."""
    return isinstance(value, list | tuple)
