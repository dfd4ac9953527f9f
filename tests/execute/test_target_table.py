"""Target names: patterns, unknown and missing ones, plug-ins, and that no framework is imported to find out."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

from irfuzz.errors import UsageError
from irfuzz.execute import target_table
from irfuzz.execute.adapters import adapter

pytestmark = pytest.mark.unit

ORT = [f"onnxruntime:{level}" for level in ("disabled", "basic", "extended", "layout", "all")]


def names(*wanted: str) -> list[str]:
    return [target.name for target in target_table.resolve(wanted)]


def test_default_set_is_what_is_installed() -> None:
    assert [t.name for t in target_table.resolve(None)][:8] == ["reference", *ORT, "torch:eager", "torch:jit"]
    assert all(t.version for t in target_table.resolve(None))


def test_patterns_components_and_order() -> None:
    assert names("onnxruntime:*") == ORT
    assert names("onnxruntime") == ORT
    assert names("torch:eager", "reference", "torch:eager") == ["torch:eager", "reference"]
    assert names("onnxruntime:[bd]*") == ORT[:2]


@pytest.mark.parametrize("name", ["tensorrt", "x*", "", "a:b:c"])
def test_unknown_name_lists_the_known_components(name: str) -> None:
    with pytest.raises(UsageError, match=r"unknown target .*known: reference, onnxruntime, torch, .*irfuzz targets"):
        names(name)


@pytest.mark.parametrize("name", ["onnxruntime:fastest", "onnxruntime:Foo"])
def test_an_unknown_variant_lists_those_of_its_component(name: str) -> None:
    with pytest.raises(UsageError, match=r"known: onnxruntime:disabled, onnxruntime:basic, ") as told:
        names(name)
    assert "torch" not in str(told.value)


def test_what_may_be_meant_comes_first() -> None:
    with pytest.raises(UsageError, match=r"unknown target 'onxruntime'; did you mean 'onnxruntime'\? known: reference"):
        names("onxruntime")


def test_a_misplaced_version_is_put_right() -> None:
    with pytest.raises(UsageError, match=r"unknown target .*; did you mean 'onnxruntime@1.29.0:all'\? known"):
        names("onnxruntime:all@1.29.0")


def test_no_names_at_all() -> None:
    with pytest.raises(UsageError, match="no targets"):
        target_table.resolve([])


def test_device_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="onnxruntime-gpu"):
        names("onnxruntime:all@cuda")
    with pytest.raises(UsageError, match="onnxruntime-gpu"):
        names("onnxruntime:*@cuda")
    with pytest.raises(UsageError, match="onnxruntime-gpu"):
        names("onnxruntime:all@tensorrt")
    reasons = {a.target.name: a.why_not for a in target_table.describe()}
    assert "onnxruntime-gpu" in reasons["onnxruntime:all@cuda"]
    assert reasons["onnxruntime:all"] == ""


def test_package_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter.importlib.util, "find_spec", lambda name: None if name == "onnxruntime" else object())
    there = {t.name for t in target_table.resolve(None)}
    assert {"reference", "torch:eager"} <= there
    assert not there & set(ORT)
    with pytest.raises(UsageError, match="pip install onnxruntime"):
        names("onnxruntime:all")
    with pytest.raises(UsageError, match="pip install onnxruntime"):
        names("onnxruntime:*")


def test_plugin_names() -> None:
    (target,) = target_table.resolve(["tests.planted_targets.faults:Thing"])
    assert target.name == target.component == "tests.planted_targets.faults:Thing"
    assert isinstance(target_table.adapter_of(target), target_table.PluginAdapter)
    assert names(f"{__file__}:Thing") == [f"{__file__}:Thing"]
    with pytest.raises(UsageError, match=r"no module named 'my'$"):
        names("my.module:Thing")
    with pytest.raises(UsageError, match=r"some/where\.py: no such file"):
        names("some/where.py:Thing")


@pytest.mark.parametrize("place", ["mine_/__init__.py", "mine_.py"])
def test_a_project_whose_modules_lie_in_src_has_to_be_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    file = tmp_path / "src" / place
    file.parent.mkdir(parents=True)
    file.touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="no module named 'mine_'; it lies in src, so install the project"):
        names("mine_.module:Thing")


def entry(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    point = importlib.metadata.EntryPoint(name, "their.module:Thing", target_table.GROUP)
    monkeypatch.setattr(
        target_table.importlib.metadata, "entry_points", lambda group: (point,) if group == target_table.GROUP else ()
    )


def test_entry_points_are_known_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    entry(monkeypatch, "theirs")
    (target,) = target_table.resolve(["theirs"])
    message, _ = target_table.adapter_of(target).describe()
    assert message["class"] == "their.module:Thing"
    assert "theirs" in [t.name for t in target_table.resolve(None)]


@pytest.mark.parametrize("name", ["reference", "onnxruntime:all", "onnxruntime:mine"])
def test_entry_point_that_takes_our_name(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    entry(monkeypatch, name)
    with pytest.raises(UsageError, match=f"{name}.*their.module:Thing.*taken"):
        target_table.table()


def test_detection_imports_no_framework() -> None:
    code = (
        "import sys; from irfuzz.execute.target_table import resolve, describe; import irfuzz.execute.runner;"
        "resolve(None); describe(); resolve(['json.tool:Thing']);"
        "print(sorted({'torch', 'onnxruntime', 'tensorflow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_devices_are_used_only_where_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "why_no_gpu", lambda: "")
    monkeypatch.setattr(adapter, "why_no_cuda", lambda component: "")
    assert names("onnxruntime") == names("onnxruntime:*") == ORT
    assert names("onnxruntime:*@cuda") == ["onnxruntime:disabled@cuda", "onnxruntime:all@cuda"]
    assert names("*@tensorrt") == ["onnxruntime:all@tensorrt"]
    assert target_table.resolve(["onnxruntime:all@tensorrt"])[0].slow
    assert all(t.device == "cpu" for t in target_table.resolve(None))


def test_tensorrt_is_skipped_where_only_its_libraries_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "why_no_gpu", lambda: "")
    monkeypatch.setattr(adapter, "why_no_cuda", lambda component: "")
    monkeypatch.setattr(adapter, "why_no_tensorrt", lambda package: f"no libraries for {package.name}")
    reasons = {a.target.name: a.why_not for a in target_table.describe()}
    assert reasons["onnxruntime:all@tensorrt"] == "no libraries for onnxruntime"
    assert reasons["onnxruntime:all@cuda"] == ""
    with pytest.raises(UsageError, match="no libraries for onnxruntime"):
        names("onnxruntime:all@tensorrt")
