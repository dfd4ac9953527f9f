"""Settings of every test: paths, one thread, the same Hypothesis examples each time."""

from __future__ import annotations

import locale
import os
import shutil
import signal
import sys
import tempfile
import types
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]

SHOWN = os.environ.get("CUDA_VISIBLE_DEVICES")
"""Which GPUs whoever started the tests lets them see."""

# Before NumPy or a framework starts its threads, here and in every process that a test starts.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

# Some tests run a small part of a benchmark. The checkout is not on the path, or the package in it would hide the
# installed one.
# Nor are the tests, and tf2onnx installs a folder of that name.
for package in ("benchmarks", "tests"):
    module = sys.modules.setdefault(package, types.ModuleType(package))
    module.__path__ = [str(ROOT / package)]

# A shell starts background jobs with Ctrl-C ignored, and so would be every process that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("irfuzz", deadline=None, derandomize=True, database=None, print_blob=True)
settings.load_profile("irfuzz")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Say at once what to do where the native module was not built."""
    try:
        import irfuzz._native  # noqa: F401
    except ImportError as error:
        pytest.exit(
            f"{error}; install irfuzz (`pip install .`), or build the module in place (docs/native.md)", returncode=4
        )
    _home_of_the_tests(session)


def _home_of_the_tests(session: pytest.Session) -> None:
    """Campaigns add to support.json beside the environments: the tests have one of their own."""
    from irfuzz.execute.versions import environments

    there = environments.folder()
    home = Path(tempfile.mkdtemp(prefix="irfuzz-tests-"))
    if there.is_dir():
        (home / there.name).symlink_to(there)
    os.environ[environments.HOME] = str(home)
    session.config.add_cleanup(lambda: shutil.rmtree(home, ignore_errors=True))


@pytest.fixture(autouse=True)
def adopts_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that runs a job in this process lets it adopt orphans: it is not to end what later tests start."""
    monkeypatch.setattr("irfuzz.isolate.stray_processes._adopting", False)


@pytest.fixture(autouse=True)
def same_locale() -> Iterator[None]:
    """Put the locale back: onnx's reference StringNormalizer sets that of the process, and with it an encoding."""
    before = locale.setlocale(locale.LC_ALL)
    yield
    if locale.setlocale(locale.LC_ALL) != before:
        locale.setlocale(locale.LC_ALL, before)


@pytest.fixture(autouse=True)
def gpus_are_shown(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Show tests marked ``gpu`` the GPUs that ``tests.export.frameworks`` hides from frameworks in this process."""
    if request.node.get_closest_marker("gpu") is None:
        return
    if SHOWN is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", SHOWN)


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout that these tests belong to."""
    return ROOT
