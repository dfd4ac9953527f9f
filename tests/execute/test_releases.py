"""Releases of a component: what pip lists, which of them are compared, and what happens without an index."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import onnxruntime
import pytest

from irfuzz.errors import UsageError
from irfuzz.execute import target_table
from irfuzz.execute.versions import environments, installation, releases
from irfuzz.execute.versions.installation import INDEX, PackageSource, WantedEnvironment
from irfuzz.execute.versions.releases import VersionRange, candidates, few_variants, read_range, versions_beside
from tests.execute.other_python import put

pytestmark = pytest.mark.unit

LISTED = """WARNING: pip index is currently an experimental command.
onnxruntime (1.3.0)
Available versions: 1.3.0, 1.2.1+cpu, 1.2.1, 1.10.0, 1.2.0
  INSTALLED: 1.2.0
"""
ORT = VersionRange("onnxruntime", "onnxruntime", 1)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv(environments.HOME, str(tmp_path / "home"))
    releases.releases.cache_clear()
    yield tmp_path / "home" / "environments"
    releases.releases.cache_clear()


def pip_says(monkeypatch: pytest.MonkeyPatch, text: str, code: int = 0) -> None:
    monkeypatch.setattr(installation, "output_of", lambda command, what: (code, text))


def test_a_range_names_a_component_or_what_brings_it() -> None:
    assert read_range("ort:3") == read_range("onnxruntime:3") == VersionRange("onnxruntime", "onnxruntime", 3)
    assert read_range("onnx:20") == read_range("reference:20") == VersionRange("reference", "onnx", 20)
    assert read_range("onnx-graphsurgeon:1").distribution == "onnx-graphsurgeon"
    for text in ("ort", "ort:0", "ort:21", "ort:x", "ort:1.2"):
        with pytest.raises(UsageError, match="expected a component and how many releases"):
            read_range(text)
    with pytest.raises(UsageError, match="no component 'nothing'; there are: reference, onnxruntime"):
        read_range("nothing:2")


def test_what_pip_lists_is_sorted_by_number_and_builds_of_one_release_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    pip_says(monkeypatch, LISTED)
    assert releases.releases("onnxruntime") == ("1.2.0", "1.2.1", "1.3.0", "1.10.0")
    assert candidates(VersionRange("onnxruntime", "onnxruntime", 3), print)[0] == "1.2.0"
    with pytest.raises(UsageError, match=r"has 4 releases that can be installed here .* and 5 are wanted"):
        candidates(VersionRange("onnxruntime", "onnxruntime", 4), print)


def test_without_an_index_what_is_installed_is_compared_or_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pip_says(monkeypatch, "ERROR: No matching distribution found for onnxruntime", 1)
    told: list[str] = []
    with pytest.raises(UsageError, match=r"pip cannot list the releases of onnxruntime: No matching.*needs 2 releases"):
        candidates(ORT, told.append)
    put("onnxruntime-1.20.1", "onnxruntime", "1.20.1", "onnxruntime", sys.executable)
    assert candidates(ORT, told.append) == ("1.20.1", onnxruntime.__version__)
    assert told == [
        (
            "pip cannot list the releases of onnxruntime: No matching distribution found for onnxruntime; "
            "taking the newest of what is installed"
        )
    ]


def test_a_release_that_cannot_be_used_is_told_and_an_older_one_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    own = onnxruntime.__version__
    pip_says(monkeypatch, f"Available versions: {own}, 1.20.1, 1.19.0, 1.18.0")
    put("onnxruntime-1.19.0", "onnxruntime", "1.19.0", "onnxruntime", sys.executable)

    def add(wish: WantedEnvironment, **more: object) -> tuple[environments.Environment, bool]:
        if wish.version != "1.19.0":
            raise UsageError("no wheel")
        return environments.installed()[0], False

    monkeypatch.setattr(installation, "add", add)
    few = target_table.resolve(["onnxruntime:disabled", "onnxruntime:all"])
    told: list[str] = []
    found = versions_beside(few, few[:1], ORT, told.append)
    assert [t.name for t in found] == ["onnxruntime:all", "onnxruntime@1.19.0:disabled", "onnxruntime@1.19.0:all"]
    assert "onnxruntime 1.20.1 is left out: no wheel" in told
    assert told[-1] == f"comparing onnxruntime {own}, 1.19.0"
    pip_says(monkeypatch, f"Available versions: {own}, 1.20.1")
    releases.releases.cache_clear()
    with pytest.raises(UsageError, match="fewer than two releases of onnxruntime can be installed"):
        versions_beside(few, few, ORT, told.append)


def test_of_many_variants_the_first_and_the_last_are_compared() -> None:
    levels = target_table.resolve(["onnxruntime"])
    assert [t.name for t in few_variants(levels)] == ["onnxruntime:disabled", "onnxruntime:all"]
    assert few_variants(levels[:2]) == list(levels[:2])


# ---- what environments get -------------------------------------------------------------------


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What pip is asked for; it has everything but ml-dtypes."""
    asked: list[tuple[str, ...]] = []

    def run(
        interpreter: Path, wish: WantedEnvironment, requirements: tuple[str, ...], source: PackageSource, say: object
    ) -> str | None:
        asked.append(tuple(requirements))
        return "ERROR: No matching distribution found for ml-dtypes" if "ml-dtypes" in requirements else None

    monkeypatch.setattr(installation, "_pip", run)
    monkeypatch.setattr(installation, "_run", lambda command, what: None)
    return asked


def test_environments_get_what_scripts_import_if_that_can_be(tmp_path: Path, pip: list[tuple[str, ...]]) -> None:
    told: list[str] = []
    wish = WantedEnvironment("onnxruntime", "1.2.0", "onnxruntime==1.2.0")
    needed = ("onnxruntime==1.2.0", "numpy")
    assert installation._build(tmp_path, sys.executable, wish, needed, INDEX, told.append) == needed
    assert pip == [(*needed, "onnx", "ml-dtypes"), needed]
    assert told[-1].startswith("pip cannot add onnx and ml-dtypes to onnxruntime (No matching distribution")
    pip.clear()
    own = ("onnx==1.20.0", "numpy", "ml_dtypes==0.4")
    assert installation._build(
        tmp_path, sys.executable, WantedEnvironment("onnx", "1.20.0", own[0]), own, INDEX, told.append
    ) == (
        *own,
        "onnxruntime",
    )
    assert pip == [(*own, "onnxruntime")], "neither twice"


@pytest.mark.parametrize("distribution", ["onnxscript", "onnxslim", "onnx", "torch", "onnxconverter-common"])
def test_an_environment_of_a_tool_gets_what_runs_its_models(distribution: str) -> None:
    assert installation.companions(distribution) == (*installation.COMPANIONS, "onnxruntime")


@pytest.mark.parametrize("distribution", ["onnxruntime", "onnxruntime-gpu", "onnx2torch", "openvino", "keras"])
def test_what_makes_no_models_gets_no_other_runtime(distribution: str) -> None:
    assert installation.companions(distribution) == installation.COMPANIONS


def test_a_tool_whose_package_needs_others_gets_it_with_them() -> None:
    assert "onnxruntime" in installation.companions("keras", ["tensorflow", "tf2onnx"])


def test_what_pip_has_is_added_without_what_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []

    def run(
        interpreter: Path, wish: WantedEnvironment, requirements: tuple[str, ...], source: PackageSource, say: object
    ) -> str | None:
        asked.append(tuple(requirements))
        lacks = "onnxruntime" in requirements
        return "ERROR: No matching distribution found for onnxruntime" if lacks else None

    monkeypatch.setattr(installation, "_pip", run)
    monkeypatch.setattr(installation, "_run", lambda command, what: None)
    told: list[str] = []
    needed = ("onnxslim==0.1.9", "numpy")
    wish = WantedEnvironment("onnxslim", "0.1.9", needed[0])
    made = installation._build(tmp_path, sys.executable, wish, needed, INDEX, told.append)
    assert made == (*needed, "onnx", "ml-dtypes")
    assert asked == [(*made, "onnxruntime"), made]
    (line,) = told
    assert line.startswith("pip cannot add onnxruntime to onnxslim (No matching distribution found for onnxruntime); ")


def test_an_older_environment_is_completed(pip: list[tuple[str, ...]]) -> None:
    made = put(
        "onnxruntime-1.2.0", "onnxruntime", "1.2.0", "onnxruntime", sys.executable,
        packages={"onnxruntime": "1.2.0", "onnx": "1.20.0"},
    )  # fmt: skip
    wish = WantedEnvironment("onnxruntime", "1.2.0", "onnxruntime==1.2.0")
    assert installation.add(wish) == (made, False)
    assert pip == [("onnxruntime==1.2.0", "numpy", "ml-dtypes")]


def test_an_older_environment_of_a_tool_gets_what_runs_its_models(
    pip: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = {"onnxslim": "0.1.9", "onnx": "1.20.0", "ml-dtypes": "0.5.0"}
    made = put("onnxslim-0.1.9", "onnxslim", "0.1.9", "onnxslim", sys.executable, packages=packages)
    whole = {**packages, "onnxruntime": "1.30.0"}
    monkeypatch.setattr(installation, "_pip", lambda *given: pip.append(tuple(given[2])))
    monkeypatch.setattr(installation, "_examined", lambda *_: replace(made, packages=whole))
    wish = WantedEnvironment("onnxslim", "0.1.9", "onnxslim==0.1.9")
    assert installation.add(wish) == (replace(made, packages=whole), False)
    assert pip == [("onnxslim==0.1.9", "numpy", "onnxruntime")]
    assert installation.add(wish, others=["onnx"])[0].packages == whole, "it is there whether asked for or not"
    assert len(pip) == 1


def test_a_component_for_an_older_numpy_gets_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    made = put("other", "onnxruntime", "1.2.0", "onnxruntime", sys.executable)

    def make(
        name: str,
        wish: WantedEnvironment,
        python: str,
        requirements: tuple[str, ...],
        source: PackageSource,
        say: object,
    ) -> environments.Environment:
        asked.append(requirements)
        if "numpy<2" not in requirements:
            raise installation._unusable("it", "ImportError: x", "A module that was compiled using NumPy 1.x cannot")
        return made

    monkeypatch.setattr(installation, "_made", make)
    wish = WantedEnvironment("onnxruntime", "1.2.0", "onnxruntime==1.2.0")
    assert installation.add(wish) == (made, True)
    assert asked == [("onnxruntime==1.2.0", "numpy"), ("onnxruntime==1.2.0", "numpy<2")]
    with pytest.raises(UsageError, match="built for an older numpy"):
        installation.add(wish, others=["numpy==2.1"])


def test_only_wheels_of_a_release_are_tried() -> None:
    assert PackageSource(built=True).flags("onnx") == ["--only-binary", "onnx,ml-dtypes"]
    assert PackageSource(built=True).flags("tool") == ["--only-binary", "onnx,ml-dtypes,tool"]


def test_what_scripts_import_beside_a_component_is_never_built() -> None:
    assert INDEX.flags("onnx") == ["--only-binary", "ml-dtypes"]
    assert INDEX.flags("tool") == ["--only-binary", "onnx,ml-dtypes"]
    assert PackageSource(Path("/w")).flags("onnx") == ["--no-index", "--find-links", "/w", "--only-binary", "ml-dtypes"]
