"""Life of a worker: start and what can go wrong with it, environment, end, and that nothing is left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from irfuzz.errors import InternalError, UsageError
from irfuzz.isolate import Limits, StartError, Worker, WorkerPool, WorkerSpec, linux
from irfuzz.isolate.scratch_folder import LOCK

HERE = Path(__file__).parent
HANDLERS = HERE / "handlers"


def moody(mood: str, python: str = sys.executable) -> WorkerSpec:
    return WorkerSpec("moody", HANDLERS / "moody.py", python=python, env={"MOOD": mood})


def descriptors() -> list[str]:
    """What the open file descriptors of this process are, sockets and memory files by kind only."""
    links = []
    for path in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the descriptor that lists them
            links.append(str(path.readlink()).split("[")[0])
    return sorted(links)


def test_nothing_is_left_after_twenty_kills(many: WorkerSpec, gone: Callable[[list[int]], bool]) -> None:
    before_fds = descriptors()
    before = linux.descendants(os.getpid())
    with Worker(many) as worker:
        pids = set()
        for do in ["segfault", "abort", "sleep", "exit"] * 5:
            reply = worker.call({"do": "echo"}, [np.ones(3)])
            assert (reply.exit, reply.served, reply.before) == ("ok", 0, "")
            pids.add(reply.response["pid"])
            assert worker.call({"do": do, "hard": True, "code": 1}, seconds=0.05).exit in ("crash", "hang", "exited")
        assert worker.call({"do": "echo"}).exit == "ok"
        assert worker.forks == 21
        running = set(linux.descendants(os.getpid())) - set(before)
        assert len(running) == 2, "one zygote and one child"
        scratch = Path(worker.call({"do": "touch"}).response["cwd"]).parent
        assert sorted(path.name for path in scratch.iterdir()) == [LOCK, "21", "home"]
    assert len(pids) == 20
    assert gone([*pids, *running])
    assert linux.descendants(os.getpid()) == before, "a zombie or a process is left"
    assert descriptors() == before_fds
    assert not scratch.exists()


def test_children_are_found_on_kernels_with_and_without_a_list_of_them() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        assert process.pid in linux.children(os.getpid())
        assert sorted(linux._children_by_scan(os.getpid())) == sorted(linux.children(os.getpid()))
        process.kill()
    assert linux.children(process.pid) == []


def test_a_process_that_has_ended_does_not_run_though_nobody_has_reaped_it() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        assert linux.is_running(process.pid)
        process.kill()
        end = time.monotonic() + 10
        while linux.is_running(process.pid):
            assert time.monotonic() < end
        process.wait()
        assert not linux.is_running(process.pid)


def test_other_programs_inherit_nothing(worker: Worker) -> None:
    worker.call({"do": "echo"})
    script = "import os; print(*(os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd') if int(n) > 2 "
    script += "and os.path.exists(f'/proc/self/fd/{n}')))"
    held = subprocess.run(
        [sys.executable, "-P", "-c", script], close_fds=False, capture_output=True, text=True, check=True
    )
    assert "socket" not in held.stdout
    assert "memfd" not in held.stdout
    assert "statm" not in held.stdout
    assert {"socket:", "/memfd:irfuzz-log (deleted)"} <= set(descriptors()), "else the test looks at nothing"


def test_environment(worker: Worker) -> None:
    first = worker.call({"do": "touch"}).response
    assert first["HOME"] == str(Path(first["cwd"]).parent / "home")
    assert (first["OMP_NUM_THREADS"], first["EXTRA"]) == ("1", "given")
    assert Path(first["cwd"]).parts[-2].startswith("irfuzz-")
    second = worker.call({"do": "touch"}, fresh=True).response
    assert second["cwd"] != first["cwd"]
    assert not Path(first["cwd"]).exists()


def test_describe_is_asked_once(many: WorkerSpec) -> None:
    with Worker(many) as worker:
        described = worker.describe()
        assert described == {
            "component": "many", "version": "1.2.3", "python": sys.version.split()[0], "numpy": np.__version__,
        }  # fmt: skip
        worker.close()
        assert worker.describe() == described


def test_closed_worker_says_so(many: WorkerSpec) -> None:
    worker = Worker(many)
    worker.close()
    worker.close()
    with pytest.raises(InternalError, match="many is closed"):
        worker.call({"do": "echo"})


def test_what_cannot_be_sent_harms_nothing(worker: Worker) -> None:
    pid = worker.call({"do": "echo"}).response["pid"]
    with pytest.raises(TypeError, match=r"builtins\.object cannot cross"):
        worker.call({"do": "echo"}, [object()])  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="set is not JSON-able"):
        worker.call({"do": {1}})
    with pytest.raises(TypeError, match="holds float"):
        worker.call({"do": "echo"}, [np.array([1.0, "a"], object)])
    assert worker.call({"do": "echo"}).response["pid"] == pid


def test_two_threads_at_once(worker: Worker) -> None:
    worker.call({"do": "echo"})
    thread = threading.Thread(target=worker.call, args=({"do": "shared_hog", "pieces": 0, "sleep": 1},))
    thread.start()
    while not worker._lock.locked():
        time.sleep(0.001)
    with pytest.raises(InternalError, match="two threads"):
        worker.call({"do": "echo"})
    thread.join()
    assert worker.call({"do": "echo"}).exit == "ok"


def test_worker_outlives_the_thread_that_started_it(many: WorkerSpec) -> None:
    with Worker(many) as worker:
        pids: list[int] = []
        thread = threading.Thread(target=lambda: pids.append(worker.call({"do": "echo"}).response["pid"]))
        thread.start()
        thread.join()
        time.sleep(0.1)
        assert worker.call({"do": "echo"}).response["pid"] == pids[0]


def test_fork_of_the_parent_has_no_power_over_the_worker(many: WorkerSpec) -> None:
    with Worker(many) as worker:
        pid = worker.call({"do": "echo"}).response["pid"]
        child = os.fork()
        if child == 0:
            code = 1
            try:
                worker.call({"do": "echo"})
            except InternalError:
                worker.close()
                code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert worker.call({"do": "echo"}).response["pid"] == pid


DRIVER = """
    import sys
    from pathlib import Path
    from irfuzz.isolate import Worker, WorkerSpec
    with Worker(WorkerSpec("many", Path(sys.argv[1]), allowed=(str(Path(sys.argv[2]).parent),))) as worker:
        print(worker.call({"do": "echo"}).response["pid"], worker._zygote.scratch, flush=True)
        try:
            worker.call({"do": "fork", "note": sys.argv[2], "then": sys.argv[3]}, seconds=60)
        except KeyboardInterrupt:
            print("interrupted", worker.call({"do": "echo"}).exit, flush=True)
            sys.exit(0)
        print("called", flush=True)
        sys.stdin.read()
"""


@pytest.fixture
def driver(tmp_path: Path) -> Callable[[str], subprocess.Popen[str]]:
    def start(then: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-P", "-c", textwrap.dedent(DRIVER), HANDLERS / "many.py", tmp_path / "note", then],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(HERE.parents[1])},
        )  # fmt: skip

    return start


def pids_of(process: subprocess.Popen[str], note: Path) -> tuple[list[int], Path]:
    """Every process below the driver, once the grandchildren are made, and its scratch folder."""
    assert process.stdout is not None
    _child, scratch = process.stdout.readline().split()
    end = time.monotonic() + 20
    while not (note.exists() and len(note.read_text().split()) == 4):
        assert time.monotonic() < end
        time.sleep(0.01)
    below = linux.descendants(process.pid)
    grandchildren = [int(pid) for pid in note.read_text().split()]
    assert set(grandchildren) <= set(below)
    assert len(below) == 6  # zygote, child, four grandchildren
    return below, Path(scratch)


@pytest.mark.parametrize("then", ["hang", "return"])
def test_nothing_survives_kill_9_of_the_parent(
    driver: Callable[[str], subprocess.Popen[str]], tmp_path: Path, gone: Callable[[list[int]], bool], then: str
) -> None:
    process = driver(then)
    below, scratch = pids_of(process, tmp_path / "note")
    if then == "return":
        assert process.stdout is not None
        assert process.stdout.readline() == "called\n"
    process.kill()
    process.communicate()
    assert gone(below)
    end = time.monotonic() + 10
    while scratch.exists() and time.monotonic() < end:
        time.sleep(0.02)
    assert not scratch.exists()


def test_ctrl_c_reaches_only_the_parent(
    driver: Callable[[str], subprocess.Popen[str]], tmp_path: Path, gone: Callable[[list[int]], bool]
) -> None:
    process = driver("hang")
    below, _scratch = pids_of(process, tmp_path / "note")
    os.killpg(process.pid, signal.SIGINT)  # as the terminal does
    out, _ = process.communicate(timeout=60)
    assert out == "interrupted ok\n"
    assert process.returncode == 0
    assert gone(below)


def test_no_such_interpreter(tmp_path: Path) -> None:
    with (
        pytest.raises(StartError, match=r"interpreter /no/such/python: No such file.*name the Python"),
        Worker(moody("", "/no/such/python")) as worker,
    ):
        worker.call({})
    text = tmp_path / "python"
    text.write_text("not a program")
    with pytest.raises(StartError, match="Permission denied"), Worker(moody("", str(text))) as worker:
        worker.start()


def test_not_a_python() -> None:
    with (
        pytest.raises(StartError, match=r"interpreter /bin/false ended with code 1 .* is it a Python"),
        Worker(moody("", "/bin/false")) as worker,
    ):
        worker.call({})


def test_an_interpreter_that_closes_its_socket_and_lives_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irfuzz.isolate.zygote_client.ANSWER_SECONDS", 0.5)
    deaf = tmp_path / "python"
    code = "import os, time; os.closerange(3, 256); time.sleep(600)"
    deaf.write_text(f"#!/bin/sh\nexec {sys.executable} -S -E -c '{code}'\n")
    deaf.chmod(0o755)
    with (
        pytest.raises(StartError, match=r"died with SIGKILL before it ran irfuzz's script; is it a Python\?"),
        Worker(moody("", str(deaf))) as worker,
    ):
        worker.call({})


def test_interpreter_without_numpy(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    bare.chmod(0o755)
    with pytest.raises(StartError) as caught, Worker(moody("", str(bare))) as worker:
        worker.call({})
    assert isinstance(caught.value, UsageError)
    assert str(caught.value) == (
        f"worker moody: interpreter {bare} has no module numpy (needed by numpy); "
        "install it in that environment or name another interpreter"
    )


def test_foreign_interpreter_gets_no_packages_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "numpy.py").write_text("raise SystemError('imported from PYTHONPATH')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    other = tmp_path / "python"
    other.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    other.chmod(0o755)
    with Worker(moody("", str(other))) as worker:
        assert worker.call({}).exit == "ok"
    with pytest.raises(StartError, match="imported from PYTHONPATH"), Worker(moody("")) as worker:
        worker.call({})


@pytest.mark.parametrize(
    ("mood", "message"),
    [
        ("raise on import", r"failed to import .*moody\.py: OSError: libcudart"),
        ("abort on import", r"died with SIGABRT while importing .*moody\.py\nfatal: no such device"),
        ("hang on import", r"was not ready after 1 s while importing .*moody\.py"),
        ("missing", r"has no module no_such_module_of_any_kind \(needed by .*moody\.py\)"),
        ("no handle", r"failed to import .*moody\.py: AttributeError: .*handle"),
    ],
)
def test_start_errors(mood: str, message: str, gone: Callable[[list[int]], bool]) -> None:
    before, others = descriptors(), set(linux.descendants(os.getpid()))
    with Worker(moody(mood), Limits(start_seconds=1.0 if "hang" in mood else 60.0)) as worker:
        for _ in range(2):  # and the second time says the same
            with pytest.raises(StartError, match=message):
                worker.call({})
    assert gone([*set(linux.descendants(os.getpid())) - others])
    assert descriptors() == before


def test_missing_preload_and_handler() -> None:
    spec = WorkerSpec("x", HANDLERS / "many.py", preload=("json", "no_such_framework"))
    with (
        pytest.raises(StartError, match=r"no module no_such_framework \(needed by no_such_framework\)"),
        Worker(spec) as worker,
    ):
        worker.call({})
    with pytest.raises(StartError, match="no handler file"), Worker(WorkerSpec("x", HANDLERS / "none.py")) as worker:
        worker.call({})


@pytest.mark.parametrize(
    ("mood", "exit_kind", "detail"),
    [
        ("raise in warm", "error", "cannot set threads"),
        ("crash in warm", "crash", "SIGSEGV"),
        ("hang in warm", "hang", "time"),
    ],
)
def test_warm_that_fails_is_told_apart(mood: str, exit_kind: str, detail: str) -> None:
    with Worker(moody(mood), Limits(start_seconds=2.0 if "hang" in mood else 60.0)) as worker:
        reply = worker.call({})
        assert (reply.exit, reply.warming) == (exit_kind, True)
        assert detail in reply.detail
        with pytest.raises(StartError, match=rf"warm\(\) of .*moody.py: .*{detail}"):
            worker.describe()


def test_describe_that_fails() -> None:
    with Worker(moody("raise in describe")) as worker:
        with pytest.raises(StartError, match=r"describe\(\) of .*no version"):
            worker.describe()
        assert worker.call({}).exit == "ok"


def test_pool(many: WorkerSpec) -> None:
    with pytest.raises(UsageError, match="two workers are called many"):
        WorkerPool([many, many])
    before = linux.descendants(os.getpid())
    with WorkerPool([many, moody("")]) as pool:
        assert len(linux.descendants(os.getpid())) == len(before) + 2, "both import at the same time"
        assert list(pool) == ["many", "moody"]
        assert len(pool) == 2
        assert pool["many"].call({"do": "echo"}).exit == "ok"
        assert pool["moody"].describe()["component"] == "moody"
    assert linux.descendants(os.getpid()) == before
    with pytest.raises(StartError), WorkerPool([many, moody("", "/no/such/python")]):
        pass
    assert linux.descendants(os.getpid()) == before
