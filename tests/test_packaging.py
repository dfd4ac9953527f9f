"""What a user installs: wheel, editable install, checkout and source distribution each hold the data and the module."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import irfuzz
from irfuzz.environment_check import check_environment, installed_version
from irfuzz.errors import InternalError, UsageError
from irfuzz.shipped_folders import data_dir, ops_dir, seeds_dir

PROBE = """
import json, numpy as np, irfuzz
from irfuzz import _native, shipped_folders
ops, seeds = shipped_folders.ops_dir(), shipped_folders.seeds_dir()
print(json.dumps({
    "package": irfuzz.__file__, "native": _native.__file__, "version": irfuzz.__version__,
    "ops": str(ops), "seeds": str(seeds),
    "toml": sorted(p.relative_to(ops).as_posix() for p in ops.rglob("*.toml")),
    "models": sorted(p.relative_to(seeds).as_posix() for p in seeds.rglob("*.onnx")),
    "index": (seeds / "index.toml").is_file(),
    "bugs": len(list(shipped_folders.data_dir("docs/bugs").glob("*/model.onnx"))),
    "max_abs": _native.difference(np.array([1.0]), np.array([3.0])).max_abs,
}))
"""


def run(command: list[str], **environment: str) -> str:
    result = subprocess.run(
        command,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
        check=False,
    )
    assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    return result.stdout


def probe(python: Path | str, cwd: Path, **environment: str) -> dict:
    """What a fresh interpreter, started elsewhere, sees of irfuzz."""
    code = f"import os; os.chdir({str(cwd)!r})\n{PROBE}"
    return json.loads(run([str(python), "-P", "-c", code], **environment))


def assert_complete(seen: dict, root: Path) -> None:
    assert seen["toml"] == sorted(p.relative_to(root / "ops").as_posix() for p in (root / "ops").rglob("*.toml"))
    assert seen["models"] == sorted(p.relative_to(root / "seeds").as_posix() for p in (root / "seeds").rglob("*.onnx"))
    assert seen["bugs"] == len(list((root / "docs" / "bugs").glob("*/model.onnx")))
    assert seen["toml"]
    assert seen["models"]
    assert seen["index"]
    assert seen["max_abs"] == 2.0
    assert seen["version"] == irfuzz.__version__


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder), str(root)])
    (built,) = folder.glob("irfuzz-*.whl")
    return built


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_wheel(wheel: Path, root: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(target), str(wheel)])
    seen = probe(sys.executable, tmp_path, PYTHONPATH=str(target))
    assert_complete(seen, root)
    for key in ("package", "native", "ops", "seeds"):
        assert Path(seen[key]).is_relative_to(target), key
    names = zipfile.ZipFile(wheel).namelist()
    assert "irfuzz/py.typed" in names
    assert "irfuzz/_native.pyi" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {name.split("/")[0] for name in names} == {"irfuzz", f"irfuzz-{irfuzz.__version__}.dist-info"}
    assert len([name for name in names if "/_native." in name and name.endswith(".so")]) == 1


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_editable_install(root: Path, tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    run([sys.executable, "-m", "venv", "--without-pip", str(environment)])
    python = environment / "bin" / "python"
    site = Path(run([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip())
    # The dependencies of this interpreter, behind the new environment's own packages.
    (site / "parent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = [str(python), "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--no-build-isolation"]
    run([*pip, "--ignore-installed", "-e", str(root)], PYTHONPATH="")
    seen = probe(python, tmp_path, PYTHONPATH="")
    assert_complete(seen, root)
    assert Path(seen["package"]) == root / "irfuzz" / "__init__.py"
    assert Path(seen["ops"]) == root / "ops"
    assert Path(seen["seeds"]) == root / "seeds"


def test_checkout(root: Path, tmp_path: Path) -> None:
    code = "from irfuzz.shipped_folders import ops_dir, seeds_dir; print(ops_dir(), seeds_dir(), sep='\\n')"
    lines = run([sys.executable, "-P", "-c", code], PYTHONPATH=str(root)).split()
    assert [Path(line) for line in lines] == [root / "ops", root / "seeds"]


@pytest.mark.slow
def test_source_distribution_can_be_built_from(root: Path, tmp_path: Path) -> None:
    code = f"import os; os.chdir({str(root)!r}); import scikit_build_core.build as b; b.build_sdist({str(tmp_path)!r})"
    run([sys.executable, "-c", code])
    (archive,) = tmp_path.glob("irfuzz-*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    for needed in ("CMakeLists.txt", "cpp/src/distance.cpp", "cpp/bindings/module.cpp", "LICENSE", "README.md"):
        assert needed in names
    for folder, pattern in (("ops", "*.toml"), ("seeds", "*.onnx"), ("irfuzz", "*.py"), ("tests", "*.py")):
        wanted = {p.relative_to(root).as_posix() for p in (root / folder).rglob(pattern)}
        assert wanted <= names, folder
    assert not [name for name in names if name.endswith(".so") or "__pycache__" in name]


def test_data_is_here() -> None:
    assert (ops_dir() / "ai.onnx" / "Conv.toml").is_file()
    assert (seeds_dir() / "index.toml").is_file()


def test_missing_data_is_named(tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "irfuzz"
    package.mkdir(parents=True)
    (package.parent / "ops").mkdir()  # somebody else's: no pyproject.toml beside it
    with pytest.raises(InternalError, match=r"'ops' is missing: expected .*_data/ops"):
        data_dir("ops", package)
    (package / "_data" / "ops").mkdir(parents=True)
    assert data_dir("ops", package) == package / "_data" / "ops"


def test_entry_point_and_extras(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"irfuzz": "irfuzz.cli.main:main"}
    assert project["entry-points"]["pytest11"] == {"irfuzz": "irfuzz.embed.pytest_plugin"}
    extras = project["optional-dependencies"]
    assert {"onnxruntime", "gpu", "torch", "tensorflow", "converters", "test", "all"} <= set(extras)
    core = " ".join(project["dependencies"])
    assert not [name for name in ("torch", "tensorflow", "onnxruntime") if name in core]
    assert "gpu" not in " ".join(extras["all"]), "all must be a set that works together"


def distribution(folder: Path, name: str, version: str) -> None:
    """Installs metadata only; it is what the check reads."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


@pytest.mark.unit
def test_both_builds_of_onnxruntime_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distribution(tmp_path / "cpu", "onnxruntime", "1.31.1")
    distribution(tmp_path / "gpu", "onnxruntime-gpu", "1.31.0")
    for present in ([], ["cpu"], ["gpu"]):
        monkeypatch.setattr(sys, "path", [str(tmp_path / name) for name in present])
        check_environment()
    monkeypatch.setattr(sys, "path", [str(tmp_path / "cpu"), str(tmp_path / "gpu")])
    with pytest.raises(UsageError) as caught:
        check_environment()
    assert "onnxruntime 1.31.1 and onnxruntime-gpu 1.31.0" in str(caught.value)
    assert "pip uninstall onnxruntime onnxruntime-gpu" in str(caught.value)
    assert installed_version("onnxruntime-gpu") == "1.31.0"
    assert installed_version("no-such-distribution") is None


@pytest.mark.unit
def test_the_release_workflow_builds_what_the_project_says(root: Path) -> None:
    built = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["cibuildwheel"]["build"].split()
    workflow = (root / ".github" / "workflows" / "release.yml").read_text()
    (tried,) = re.findall(r'python: (\[".*"\])', workflow)
    assert built == [f"cp{version.replace('.', '')}-*" for version in json.loads(tried)]
    assert built[0] == "cp311-*", "requires-python"
    (guard,) = re.findall(r"grep -qx \"(.*)\" irfuzz/__init__\.py", workflow)
    line = guard.replace("\\", "").replace("${TAG#v}", irfuzz.__version__)
    assert line in (root / "irfuzz" / "__init__.py").read_text().splitlines()
