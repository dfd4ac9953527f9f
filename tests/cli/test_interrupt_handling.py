"""Ctrl-C ends a command within two seconds wherever it is, prints what is known, and leaves no process behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from irfuzz import stop_request
from irfuzz.isolate import Limits, Worker, WorkerSpec, linux
from tests.campaign.running import ENV, wait_until

OBEYED = 2.0
SLACK = 3.0
"""Seconds more that a busy machine may need."""

SLEEPER = """
import time

def handle(request, values):
    time.sleep(600)
    return {}, []
"""

BODY = """
import hashlib, sys, threading, time
from pathlib import Path
from irfuzz.cli.interrupt_handling import obeying, telling
from irfuzz.isolate import Limits, Worker, WorkerSpec

def in_python():
    while True:
        sum(range(1000))

def in_c():
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2_000_000_000)

def in_worker():
    with Worker(WorkerSpec("sleeper", Path("sleeper.py"), (), sys.executable, {}), Limits(seconds=500)) as worker:
        worker.call({})

class Finalised:
    def __del__(self):
        # What is raised here is printed and forgotten by Python.
        print("in __del__", flush=True)
        end = time.monotonic() + 1
        while time.monotonic() < end:
            pass

def in_del():
    made = Finalised()
    del made
    in_python()

def in_thread():
    # A thread that waits for a worker, and a main thread that waits for the thread, as execute.lane has it.
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(1) as pool:
        pool.submit(in_worker).result()

def main():
    print("ready", flush=True)
    with telling(lambda: print("partial: 3 of 8", flush=True)):
        globals()[sys.argv[1]]()

if __name__ == "__main__":
    try:
        with obeying():
            main()
    except KeyboardInterrupt:
        sys.exit(130)
"""


def tree(pid: int) -> list[int]:
    return [pid, *linux.descendants(pid)]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@contextmanager
def running(*words: object, cwd: Path) -> Generator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-P", *map(str, words)],
        cwd=cwd, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        for pid in tree(process.pid):
            linux.kill(pid)
        process.communicate()


def interrupted(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What a process printed that is interrupted now, and was obeyed."""
    processes = tree(process.pid)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    seconds = time.monotonic() - began
    assert process.returncode == 130, err
    assert seconds < OBEYED + SLACK
    assert wait_until(lambda: not any(alive(pid) for pid in processes))
    return out, err


@pytest.mark.parametrize("where", ["in_python", "in_c", "in_worker", "in_thread"])
def test_it_ends_wherever_it_is(tmp_path: Path, where: str) -> None:
    (tmp_path / "sleeper.py").write_text(SLEEPER)
    (tmp_path / "body.py").write_text(BODY)
    with running("body.py", where, cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        if where in ("in_worker", "in_thread"):
            assert wait_until(lambda: len(tree(process.pid)) >= 3)
        time.sleep(0.5)
        out, err = interrupted(process)
    assert out == "partial: 3 of 8\n"
    assert err == ("irfuzz: stopped\n" if where == "in_c" else "")


def test_an_interrupt_that_python_swallows_comes_again(tmp_path: Path) -> None:
    (tmp_path / "body.py").write_text(BODY)
    with running("body.py", "in_del", cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert process.stdout.readline() == "in __del__\n"
        out, err = interrupted(process)
    assert (out, err) == ("partial: 3 of 8\n", "")  # by the command itself, not by ``_watch``


def test_a_worker_that_is_stopped_is_no_crash(tmp_path: Path) -> None:
    """And none starts again until another command begins."""
    (tmp_path / "sleeper.py").write_text(SLEEPER)
    spec = WorkerSpec("sleeper", tmp_path / "sleeper.py", (), sys.executable, {})
    stop_request.resume()
    try:
        with Worker(spec, Limits(seconds=0.1)) as worker:
            assert worker.call({}).exit == "hang"
            stop_request.stop()
            with pytest.raises(stop_request.Interrupted):
                worker.call({})
            with pytest.raises(stop_request.Interrupted):
                stop_request.check()
        with pytest.raises(stop_request.Interrupted), Worker(spec) as worker:
            worker.start()
    finally:
        stop_request.resume()
    stop_request.check()
    with Worker(spec, Limits(seconds=0.1)) as worker:
        assert worker.call({}).exit == "hang"
