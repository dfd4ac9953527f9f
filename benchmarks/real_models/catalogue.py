"""The lists of models: `models.toml`, and `held_out.toml` of those that nobody looked at before the last run."""

from __future__ import annotations

import argparse
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
LISTS = {"listed": HERE / "models.toml", "held-out": HERE / "held_out.toml"}
EXPECTED = {"listed": HERE / "expected.json", "held-out": HERE / "expected_held_out.json"}
RESULTS = HERE.parent / "results" / "real_models.json"
PAGE = HERE.parents[1] / "docs" / "real-models.md"
CACHE = Path.home() / ".cache" / "irfuzz-real-models"


@dataclass(frozen=True, slots=True)
class Model:
    """A file of a package on PyPI or npm, or one that a function of `built.py` makes."""

    id: str
    family: str
    inputs: dict[str, str]
    """What each input sensibly is (see `sensible_inputs.py`)."""
    pypi: str = ""
    npm: str = ""
    built: str = ""
    file: str = ""
    """Its path inside the package."""
    sha256: str = ""
    licence: str = field(default="")

    @property
    def origin(self) -> str:
        return self.pypi or self.npm or "built.py"

    def path(self, cache: Path) -> Path:
        return cache / f"{self.id}.onnx"


def models(which: str) -> list[Model]:
    """The models of one list, in its order."""
    return [Model(**row) for row in tomllib.loads(LISTS[which].read_text())["model"]]


def parser(text: str | None) -> argparse.ArgumentParser:
    """The flags that all scripts of this folder share."""
    made = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--cache", type=Path, default=CACHE, help=f"where the models lie (default: {CACHE})")
    made.add_argument("--held-out", action="store_true", help="take the models of held_out.toml")
    made.add_argument("ids", nargs="*", help="only these models")
    return made


def chosen(options: argparse.Namespace) -> tuple[str, list[Model]]:
    """The list that was asked for, and its models that were named, or all."""
    which = "held-out" if options.held_out else "listed"
    known = models(which)
    if wrong := sorted(set(options.ids) - {model.id for model in known}):
        raise SystemExit(f"no model of {LISTS[which].name}: {', '.join(wrong)}")
    return which, [model for model in known if not options.ids or model.id in options.ids]
