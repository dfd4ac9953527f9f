"""A guarded command ends with its guard, however that ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from irfuzz.isolate.guard import guarded
from tests.campaign.running import alive, wait_until

pytestmark = [pytest.mark.unit]

SCRIPT = "import os, sys, time; open(sys.argv[1], 'w').write(f'{os.getpid()}.'); time.sleep(600)"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_command_ends_with_its_guard(tmp_path: Path, number: signal.Signals) -> None:
    note = tmp_path / "note"
    process = subprocess.Popen(guarded([sys.executable, "-c", SCRIPT, str(note)]))
    try:
        assert wait_until(lambda: note.exists() and note.read_text().endswith("."))
        pid = int(note.read_text()[:-1])
        assert alive(pid)
        process.send_signal(number)
        process.wait()
        assert wait_until(lambda: not alive(pid), 10), "it outlives its guard"
    finally:
        process.kill()
        process.wait()
