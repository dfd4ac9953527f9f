"""benchmarks/embedding/oss_fuzz: the harnesses run, and irfuzz mutates, whoever brings libFuzzer."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import onnx
import pytest

import irfuzz
from irfuzz.shipped_folders import seeds_dir

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "embedding" / "oss_fuzz"
HARNESSES = sorted(path.stem for path in FOLDER.glob("fuzz_*.py"))

pytestmark = pytest.mark.skipif(find_spec("atheris") is None, reason="needs Atheris: pip install atheris")


def compiled(place: Path) -> Path:
    """The library of mutation.c."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("needs a C compiler")
    library = place / "libmutation.so"
    warnings = ["-Wall", "-Wextra", "-Werror"]
    subprocess.run(
        [compiler, *warnings, "-shared", "-fPIC", "-o", str(library), str(FOLDER / "mutation.c")], check=True
    )
    return library


def fuzzed(name: str, place: Path, **environment: str) -> str:
    """What libFuzzer says of 60 executions that start from one model."""
    corpus = place / "corpus"
    corpus.mkdir()
    shutil.copy(seeds_dir() / "lstm.onnx", corpus)
    path = os.pathsep.join([str(Path(irfuzz.__file__).parents[1]), str(FOLDER)])
    flags = ["-runs=60", "-seed=1", "-max_len=1000000", "-keep_seed=1", f"-artifact_prefix={place}/"]
    done = subprocess.run(
        [sys.executable, str(FOLDER / f"{name}.py"), str(corpus), *flags],
        cwd=place, capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "PYTHONPATH": path, "IRFUZZ_LOOSE": "0", **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    kept = [onnx.load(path) for path in corpus.iterdir()]  # all of them parse
    assert all(model.graph.node for model in kept)
    return done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", HARNESSES)
def test_a_harness_runs_under_atheris(name: str, tmp_path: Path) -> None:
    assert "found LLVMFuzzerCustomMutator" in fuzzed(name, tmp_path)


@pytest.mark.slow
def test_a_preloaded_libfuzzer_mutates_by_irfuzz(tmp_path: Path) -> None:
    package = find_spec("atheris")
    assert package is not None
    assert package.origin is not None
    libfuzzer = Path(package.origin).parents[1] / "asan_with_fuzzer.so"
    said = fuzzed(
        "fuzz_checker",
        tmp_path,
        LD_PRELOAD=f"{libfuzzer}:{compiled(tmp_path)}",
        ASAN_OPTIONS="detect_leaks=0:handle_segv=0:handle_abort=0",
    )
    assert "found LLVMFuzzerCustomMutator" in said
    assert re.search(r"Done 60 runs|#60\s+DONE", said)


@pytest.mark.unit
def test_the_build_gives_the_library_to_each_harness() -> None:
    wrapper = "LD_PRELOAD=$this_dir/sanitizer_with_fuzzer.so ASAN_OPTIONS=$ASAN_OPTIONS:symbolize=1 $this_dir/x.pkg $@"
    (edit,) = re.findall(r"sed -i '([^']+)'", (FOLDER / "build.sh").read_text())
    done = subprocess.run(["sed", edit], input=wrapper, capture_output=True, text=True, check=True)
    assert "LD_PRELOAD=$this_dir/sanitizer_with_fuzzer.so:$this_dir/libmutation.so ASAN_OPTIONS" in done.stdout
    assert HARNESSES == ["fuzz_checker", "fuzz_shape_inference", "fuzz_version_converter"]
