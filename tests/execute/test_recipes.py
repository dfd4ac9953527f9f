"""Recipes of ``irfuzz env add``: one word stands for the packages of a target, and pip gets them in two steps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from irfuzz.cli.main import main
from irfuzz.execute.adapters.tool_table import TOOL_ADAPTERS
from irfuzz.execute.target_table import lacking
from irfuzz.execute.versions import installation
from irfuzz.execute.versions.installation import INDEX, read_wish
from irfuzz.execute.versions.recipes import RECIPES

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("word", RECIPES)
def test_a_recipe_brings_all_that_its_target_needs(word: str) -> None:
    wish = read_wish(word)
    assert wish.given == f"{wish.distribution}=={wish.version}" == RECIPES[word].requirement
    (adapter,) = [a for a in TOOL_ADAPTERS if wish.distribution in a.distributions]
    brought = [installation._name_of(r) for r in (*wish.beside, *wish.alone)]
    assert lacking(adapter, brought) == []
    assert 0 < RECIPES[word].download < RECIPES[word].disk


def test_what_a_recipe_wants_alone_comes_last_and_without_its_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []

    def run(command: Sequence[str], what: str) -> str | None:
        commands.append(list(command))
        return None

    monkeypatch.setattr(installation, "_run", run)
    wish = read_wish("ncnn")
    given = installation._build(tmp_path, "python3", wish, (wish.given, "numpy"), INDEX, lambda text: None)
    assert given == (wish.given, "numpy", "onnx", "ml-dtypes", "pnnx==20261020")
    _, first, last = commands
    assert first[first.index("--") + 1 :] == [wish.given, "numpy", "onnx", "ml-dtypes"]
    assert "--no-deps" not in first
    assert last[last.index("--") + 1 :] == ["pnnx==20261020"]
    assert last.index("--no-deps") < last.index("--")
    commands.clear()
    plain = read_wish("ncnn==1.0.20261020")
    installation._build(tmp_path, "python3", plain, (plain.given, "numpy"), INDEX, lambda text: None)
    assert len(commands) == 2


def test_the_command_says_how_much_there_is_before_it_begins(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("IRFUZZ_HOME", "/proc/nowhere")  # so that it ends there
    recipe = RECIPES["tinygrad"]
    assert main(["env", "add", "tinygrad"]) == 2
    size = f"tinygrad: {recipe.download} MB to download, {recipe.disk} MB on the disk; it wants clang"
    assert size in capsys.readouterr().err
    assert main(["env", "add", "tinygrad", "--quiet"]) == 2
    assert "MB to download" not in capsys.readouterr().err
    assert main(["env", "add", "tensorrt"]) == 2
    assert f"or one of {', '.join(RECIPES)}" in capsys.readouterr().err


def test_the_help_names_every_recipe(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["env", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"recipe ({', '.join(RECIPES)})" in text
