"""Recipes of ``irfuzz env add``: one word stands for the packages of a target, and pip gets them in two steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pytest

from irfuzz.cli.main import main
from irfuzz.errors import UsageError
from irfuzz.execute.adapters.tool_table import TOOL_ADAPTERS
from irfuzz.execute.target_table import lacking
from irfuzz.execute.versions import installation
from irfuzz.execute.versions.installation import INDEX, read_wish
from irfuzz.execute.versions.recipes import RECIPES, word_for

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("word", RECIPES)
def test_a_recipe_brings_all_that_its_target_needs(word: str) -> None:
    wish = read_wish(word)
    assert wish.given == f"{wish.distribution}=={wish.version}" == RECIPES[word].requirement
    (adapter,) = [a for a in TOOL_ADAPTERS if wish.distribution in a.distributions]
    brought = [installation._name_of(r) for r in (*wish.beside, *wish.alone)]
    assert lacking(adapter, brought) == []
    assert 0 < RECIPES[word].download < RECIPES[word].disk


@pytest.mark.parametrize("word", ["webgpu", "tvm", "openvino-provider", "WebGPU"])
def test_the_word_of_a_recipe_with_a_version_is_no_package_of_that_name(word: str) -> None:
    with pytest.raises(UsageError, match=f"{word.lower()} is the word of a recipe.*=="):
        read_wish(f"{word}==1.27.0")


@pytest.mark.parametrize("word", ["ncnn", "tinygrad"])
def test_a_recipe_that_is_called_as_its_package_has_other_versions(word: str) -> None:
    wish = read_wish(f"{word}==0.1")
    assert (wish.given, wish.alone) == (f"{word}==0.1", ())


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


@pytest.mark.parametrize("word", RECIPES)
def test_a_target_that_is_not_there_names_the_word_of_its_recipe(word: str) -> None:
    distribution = RECIPES[word].requirement.partition("==")[0]
    (adapter,) = [a for a in TOOL_ADAPTERS if distribution in a.distributions]
    why = dataclasses.replace(adapter, package="nowhere_to_be_found").missing(adapter.targets[0])
    assert f"`irfuzz env add {word}`, then name {adapter.component}@VERSION" in why
    assert adapter.own_environment is ("environment of its own" in why)
    assert adapter.own_environment or why.startswith(
        f"nowhere_to_be_found is not installed; pip install {distribution}"
    )


def test_a_target_without_a_recipe_names_what_pip_installs_or_a_version() -> None:
    (tract,) = [a for a in TOOL_ADAPTERS if a.component == "tract"]
    assert word_for("tract") == word_for("apache") == ""
    gone = dataclasses.replace(tract, package="nowhere_to_be_found")
    assert gone.missing(tract.targets[0]) == "nowhere_to_be_found is not installed; pip install tract"
    alone = dataclasses.replace(gone, own_environment=True)
    assert "run `irfuzz env add tract==VERSION`, then name tract@VERSION" in alone.missing(tract.targets[0])
