"""What outlives a zygote that was killed ends with the worker, and nothing else does."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from irfuzz.isolate import stray_processes

pytestmark = pytest.mark.unit

HERE = Path(__file__).parent

DRIVER = """
    import subprocess, sys, time
    from pathlib import Path
    from irfuzz.isolate import Worker, WorkerSpec, linux, stray_processes
    helper = subprocess.Popen(["sleep", "60"])  # as an oracle of the user's may have one
    stray_processes.adopt()
    other = stray_processes.start(["sleep", "60"], start_new_session=True)
    with Worker(WorkerSpec("many", Path(sys.argv[1]))) as worker:
        reply = worker.call({"do": "fork", "note": sys.argv[2], "then": "kill parent"}, seconds=30)
        left = [pid for pid in map(int, Path(sys.argv[2]).read_text().split()) if Path(f"/proc/{pid}").exists()]
        print(reply.exit, len(left), worker.call({"do": "echo"}).exit, helper.poll(), other.poll(), flush=True)
    for process in (helper, other):
        process.kill()
        process.wait()
"""


def test_orphans_of_a_killed_zygote_end_and_the_processes_of_others_stay(
    tmp_path: Path, gone: Callable[[list[int]], bool]
) -> None:
    """In a process of its own: adopting cannot be undone."""
    note = tmp_path / "note"
    done = subprocess.run(
        [sys.executable, "-P", "-c", textwrap.dedent(DRIVER), HERE / "handlers" / "many.py", note],
        env={**os.environ, "PYTHONPATH": str(HERE.parents[1]), "IRFUZZ_ALLOW": "all"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "crash 0 ok None None\n", done.stderr
    pids = [int(pid) for pid in note.read_text().split()]
    assert len(pids) == 4
    assert gone(pids)


def test_a_process_that_adopts_nobody_ends_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stray_processes, "_adopting", False)  # whatever this process did before
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        assert stray_processes.end_strays() == 0
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
