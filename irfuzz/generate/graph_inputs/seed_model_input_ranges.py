"""What the inputs of the shipped seeds mean: ranges by seed and input, from ``seeds/index.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache

from irfuzz.errors import SpecError
from irfuzz.shipped_folders import seeds_dir

Ranges = Mapping[str, tuple[float, float]]


@cache
def seed_ranges() -> Mapping[str, Ranges]:
    """Lowest and highest element by input name, by file name of a shipped seed; inputs of strings have none.

    Raises:
        SpecError: the index cannot be read; the message names the entry.
    """
    path = seeds_dir() / "index.toml"
    try:
        index = tomllib.loads(path.read_text(encoding="utf-8"))
        return {
            seed["file"]: {
                i["name"]: (float(i["low"]), float(i["high"])) for i in seed["inputs"] if i["dtype"] != "string"
            }
            for seed in index["seeds"]
        }
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise SpecError(f"{path}: {error!r}") from None
