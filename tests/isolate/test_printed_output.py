"""What a process prints is read in bounded memory, and until its time is up."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from irfuzz.isolate.printed_output import ended, printed

pytestmark = pytest.mark.unit


def started(code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)


@pytest.mark.parametrize("count", [0, 60, 199, 10_000_000])
def test_the_middle_of_much_is_left_out(count: int) -> None:
    process = started(f"import sys; sys.stdout.write('x' * {count})")
    said = printed(process, 60.0, kept=100)
    first, _, rest = said.partition(b"\n[")
    number, _, last = rest.partition(b" bytes left out]\n")
    assert {*first, *last} <= {ord("x")}
    assert bool(number) is (count > 300)
    assert len(first) + int(number or 0) + len(last) == count
    assert len(said) < 500
    assert process.returncode == 0


def test_one_that_goes_on_is_told_of_with_what_it_said() -> None:
    process = started("import time; print('begun', flush=True); time.sleep(600)")
    began = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired) as caught:
        printed(process, 1.0)
    assert caught.value.output == b"begun\n"
    process.terminate()
    ended(process)
    assert process.returncode == -15
    assert time.monotonic() - began < 30


def test_one_that_does_not_listen_is_killed() -> None:
    process = started(
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('x', flush=True); time.sleep(600)"
    )
    assert process.stdout is not None
    assert process.stdout.read(1) == b"x"
    process.terminate()
    ended(process, 0.2)
    assert process.returncode == -9


def test_a_closed_output_does_not_mean_the_end() -> None:
    process = started("import os, time; os.close(1); os.close(2); time.sleep(600)")
    with pytest.raises(subprocess.TimeoutExpired):
        printed(process, 0.5)
    process.kill()
    ended(process)
