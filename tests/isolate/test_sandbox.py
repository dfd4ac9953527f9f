"""What the sandbox keeps from a component that trespasses, what it leaves, and that both are told."""

from __future__ import annotations

import os
import platform
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from irfuzz.errors import UsageError
from irfuzz.isolate import Limits, StartError, Worker, WorkerSpec, sandbox, sandbox_report
from irfuzz.isolate.sandbox_report import allowed_to_all, sandbox_line, what_holds

HANDLER = Path(__file__).parent / "handlers" / "trespasser.py"
HERE = what_holds()
files_are_kept = pytest.mark.skipif("files" not in HERE, reason="this kernel has no Landlock of version 2 or newer")
network_is_kept = pytest.mark.skipif(
    "network" not in HERE, reason="this kernel allows neither a network namespace nor a seccomp filter"
)
memory_is_kept = pytest.mark.skipif("memory" not in HERE, reason="this machine lets nobody mount an own /dev/shm")
SHARED = Path(sandbox.SHARED_MEMORY)


def within(folder: Path) -> set[str]:
    """Names in a folder."""
    return {path.name for path in folder.iterdir()}


def worker(*allowed: str) -> Worker:
    return Worker(WorkerSpec("trespasser", HANDLER, allowed=allowed), Limits(seconds=20))


@pytest.fixture(scope="module")
def kept() -> Iterator[Worker]:
    with worker() as one:
        yield one


@pytest.fixture
def server() -> Iterator[int]:
    """A port of this machine's own loopback, where one who connects is greeted."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def greet() -> None:
            while True:
                try:
                    line, _ = listening.accept()
                except OSError:
                    return
                with line:
                    line.sendall(b"hello")

        thread = threading.Thread(target=greet, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


@network_is_kept
def test_nobody_is_reached(kept: Worker, server: int) -> None:
    assert "refused" in kept.call({"do": "connect", "port": server}).response


def test_who_needs_the_network_has_it(server: int) -> None:
    with worker("network") as one:
        assert one.call({"do": "connect", "port": server}).response == {"did": "hello"}


@pytest.mark.skipif(HERE.get("network") != "namespace", reason="no network namespace can be made here")
def test_a_component_can_talk_to_itself(kept: Worker) -> None:
    assert kept.call({"do": "talk_to_itself"}).response == {"did": "hello"}


@files_are_kept
@pytest.mark.parametrize("do", ["write", "append", "remove", "truncate", "rename", "remove_all", "make_folder"])
def test_files_stay_as_they_are(kept: Worker, tmp_path: Path, do: str) -> None:
    if do == "truncate" and HERE["files"] == "Landlock 2":
        pytest.skip("Landlock 2 does not see truncate(2)")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "within").write_text("the user's")
    (tmp_path / "file").write_text("the user's")
    path = tmp_path / {"remove_all": "folder", "make_folder": "new"}.get(do, "file")
    assert kept.call({"do": do, "path": str(path)}).response["type"] == "PermissionError"
    assert (tmp_path / "file").read_text() == (tmp_path / "folder" / "within").read_text() == "the user's"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder"]
    assert kept.call({"do": "read", "path": str(tmp_path / "file")}).response == {"did": "the user's"}


@files_are_kept
def test_programs_that_it_starts_are_kept_too(kept: Worker, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("the user's")
    assert "refused" in kept.call({"do": "shell", "line": f"rm {tmp_path}/file"}).response
    assert (tmp_path / "file").exists()


def test_what_it_needs_itself_works(kept: Worker) -> None:
    assert kept.call({"do": "move_within"}).response == {"did": "x"}
    assert kept.call({"do": "shell", "line": "echo x > $TMPDIR/t; cat $TMPDIR/t; echo y > /dev/stdout"}).response == {
        "did": "x\ny\n"
    }


def test_its_home_is_in_its_own_folder(kept: Worker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home, cache = kept.call({"do": "write_home"}).response["did"]
    assert Path(cache).parent == Path(home)
    assert Path(home) != Path.home()
    assert Path(home).parent.name.startswith("irfuzz-")


@files_are_kept
def test_the_users_home_stays_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with worker() as one:
        assert "refused" in one.call({"do": "write", "path": str(tmp_path / "x")}).response
    with worker("home") as one:
        assert one.call({"do": "write_home"}).response["did"][0] == str(tmp_path)
    assert (tmp_path / ".cache/new/file").read_text() == "mine"


@files_are_kept
def test_a_path_that_it_needs_may_change(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".kept").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    with worker("~/.kept") as one:
        assert one.call({"do": "write", "path": str(tmp_path / ".kept/x")}).response == {"did": None}
        assert "refused" in one.call({"do": "write", "path": str(tmp_path / "x")}).response
        assert one.call({"do": "shell", "line": "cat ~/.kept/x"}).response == {"did": "mine"}


@files_are_kept
def test_threads_may_be_named_where_a_gpus_driver_does_so() -> None:
    with worker(*sandbox._THREADS) as one:
        assert one.call({"do": "name_a_thread"}).response == {"did": "mine"}
    others = sandbox._THREADS if sandbox._has_gpu(sandbox._devices()) else ()
    with worker() as one:
        answer = one.call({"do": "name_a_thread"}).response
    assert answer.get("type") == (None if others else "PermissionError")


@pytest.mark.parametrize(
    ("names", "expected"),
    [(["null", "shm"], False), (["nvidiactl"], True), (["dxg"], True), (["dri"], False), ([], False)],
)
def test_a_gpu_is_known_by_its_devices(names: list[str], expected: bool, tmp_path: Path) -> None:
    for name in names:
        (tmp_path / name).touch()
    (tmp_path / "sda").touch()
    found = sandbox._devices(str(tmp_path))
    assert sorted(found) == sorted(str(tmp_path / name) for name in names)
    assert sandbox._has_gpu(found) is expected


@pytest.mark.skipif(int(HERE.get("files", "none 0").split()[1]) < 6, reason="this kernel's Landlock keeps no signals")
def test_other_processes_get_no_signal(kept: Worker) -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        assert kept.call({"do": "kill", "pid": other.pid}).response["type"] == "PermissionError"
        assert kept.call({"do": "kill", "pid": os.getpid()}).response["type"] == "PermissionError"
        assert other.poll() is None
        other.kill()


@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64", "riscv64"), reason="no filter for this machine")
def test_limits_of_other_processes_stay_as_they_are(kept: Worker) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    for pid in (os.getpid(), os.getppid()):
        assert kept.call({"do": "limit", "pid": pid}).response["type"] == "PermissionError"
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before


def test_the_user_may_leave_all_workers_what_they_want(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, server: int
) -> None:
    monkeypatch.setenv("IRFUZZ_ALLOW", f"network, {tmp_path}")
    with worker() as one:
        assert one.call({"do": "connect", "port": server}).response == {"did": "hello"}
        assert one.call({"do": "write", "path": str(tmp_path / "x")}).response == {"did": None}
    monkeypatch.setenv("IRFUZZ_ALLOW", "all")
    with worker() as one:
        assert one.call({"do": "write", "path": str(tmp_path / "y")}).response == {"did": None}


@pytest.fixture
def of_others() -> Iterator[Path]:
    """Shared memory that somebody else has, and a folder there with a file in it."""
    with (
        tempfile.NamedTemporaryFile(prefix="sem.mp-", dir=SHARED) as file,
        tempfile.TemporaryDirectory(dir=SHARED) as it,
    ):
        (Path(it) / "file").write_text("theirs")
        yield Path(file.name)
        assert Path(file.name).exists()
        assert (Path(it) / "file").read_text() == "theirs"


@memory_is_kept
def test_what_a_component_leaves_in_shared_memory_goes_with_its_process(of_others: Path) -> None:
    before = within(SHARED)
    folders = sorted(path.name for path in SHARED.iterdir() if path.is_dir())
    with worker() as one:
        left = one.call({"do": "leave_memory", "dies": False}).response["did"]
        assert len(set(left) - set(folders)) == 7  # four semaphores, a segment, a folder and a link
        assert one.call({"do": "memory"}).response["did"] == left  # the same process
        assert one.call({"do": "memory"}, fresh=True).response["did"] == folders
        assert one.call({"do": "leave_memory", "dies": True}).exit == "crash"
        assert one.call({"do": "memory"}).response["did"] == folders
    assert within(SHARED) == before


@memory_is_kept
def test_shared_memory_ends_with_a_zygote_that_is_killed(of_others: Path) -> None:
    before = within(SHARED)
    with worker() as one:
        one.call({"do": "leave_memory", "dies": False})
        assert one._zygote is not None
        os.kill(one._zygote.pid, signal.SIGKILL)
    assert within(SHARED) == before


@memory_is_kept
def test_what_an_import_made_in_shared_memory_stays(tmp_path: Path) -> None:
    handler = tmp_path / "handler.py"
    handler.write_text(f"{HANDLER.read_text()}\nPath('{SHARED}/irfuzz-test').touch()\n")
    with Worker(WorkerSpec("trespasser", handler), Limits(seconds=20)) as one:
        for _ in range(2):
            assert "irfuzz-test" in one.call({"do": "memory"}, fresh=True).response["did"]
    assert not (SHARED / "irfuzz-test").exists()


@memory_is_kept
def test_the_temporary_folder_may_be_in_shared_memory(monkeypatch: pytest.MonkeyPatch, of_others: Path) -> None:
    with tempfile.TemporaryDirectory(dir=SHARED) as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        with worker() as one:
            assert one.call({"do": "move_within"}).response == {"did": "x"}
        assert within(Path(folder)) == set()


@pytest.mark.unit
@pytest.mark.parametrize(
    ("folder", "allowed", "own"),
    [
        ("/tmp/irfuzz-1", [], True),
        ("/tmp/irfuzz-1", ["home", "network", "/dev/shm/data", "/devices"], True),
        ("/tmp/irfuzz-1", ["files"], False),
        ("/tmp/irfuzz-1", ["/dev/shm"], False),
        ("/tmp/irfuzz-1", ["/"], False),
        ("/dev/shm/irfuzz-1", [], False),  # others make folders there later, such as those of large weights
        ("/dev/shm/mine/irfuzz-1", [], True),
    ],
)
def test_who_has_shared_memory_of_its_own(folder: str, allowed: list[str], own: bool) -> None:
    assert sandbox._keeps_own_memory(folder, allowed) is own


@memory_is_kept
@pytest.mark.parametrize("allowed", ["files", "/dev/shm", "/dev"])
def test_who_needs_the_machines_shared_memory_has_it(allowed: str, of_others: Path) -> None:
    with worker(allowed) as one:
        assert of_others.name in one.call({"do": "memory"}).response["did"]
    assert of_others.exists()


@pytest.mark.unit
def test_words_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRFUZZ_ALLOW", "")
    assert allowed_to_all() == ()
    monkeypatch.setenv("IRFUZZ_ALLOW", "home,all,/data")
    assert allowed_to_all() == ("home", "network", "files", "/data")
    monkeypatch.setenv("IRFUZZ_ALLOW", "net")
    with pytest.raises(UsageError, match="IRFUZZ_ALLOW: expected network, files, home, all or an absolute path"):
        allowed_to_all()
    with worker() as one, pytest.raises(UsageError, match="'net'"):
        one.call({"do": "read"})


@pytest.mark.unit
@pytest.mark.parametrize(
    ("holds", "allowed", "line"),
    [
        (
            {"home": "scratch", "network": "namespace", "files": "Landlock 7"},
            "",
            (
                "workers: an empty home, no network (network namespace), "
                "files are read-only but for a scratch folder (Landlock 7)"
            ),
        ),
        (
            {"home": "scratch", "network": "namespace", "memory": "mount namespace", "files": "Landlock 7"},
            "",
            (
                "workers: an empty home, no network (network namespace), shared memory of their own (mount namespace), "
                "files are read-only but for a scratch folder (Landlock 7)"
            ),
        ),
        (
            {"home": "scratch", "network": "seccomp"},
            "",
            (
                "workers: an empty home, no network (seccomp, no loopback either); "
                "not kept from the user's files: the kernel has no means (docs/security.md)"
            ),
        ),
        ({}, "all", "workers: no sandbox; IRFUZZ_ALLOW leaves them network, files, home"),
    ],
)
def test_what_holds_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, holds: dict[str, str], allowed: str, line: str
) -> None:
    monkeypatch.setattr(sandbox_report, "what_holds", lambda _allowed: holds)
    monkeypatch.setenv("IRFUZZ_ALLOW", allowed)
    assert sandbox_line() == line


TRY = f"""
import importlib.util, os, socket, sys
spec = importlib.util.spec_from_file_location("sandbox", {sandbox.__file__!r})
sandbox = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sandbox)
"""


def tried(code: str) -> str:
    """What a process prints that does this with the sandbox."""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", TRY + code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_where_no_namespace_can_be_made_internet_sockets_are_refused() -> None:
    code = """
print(sandbox._refuse_internet_sockets())
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_PACKET):
    try:
        print(socket.socket(family, socket.SOCK_DGRAM))
    except PermissionError as error:
        print(error.errno)
print(socket.socketpair()[0].family.name, os.fork() >= 0)
"""
    said = tried(code).splitlines()
    if said[0] == "False":
        pytest.skip("no seccomp filter can be set here")
    assert said[1:4] == ["1", "1", "1"]
    assert said[4] == "AF_UNIX True"


def test_an_ordinary_user_gets_a_namespace_and_stays_who_it_is() -> None:
    code = """
enter = lambda: sandbox._enter_namespaces(["network", "memory"])
print(sandbox._succeeds_in_a_fork(enter))
if sandbox._succeeds_in_a_fork(enter):
    before = os.getuid(), os.getgid()
    enter()
    print((os.getuid(), os.getgid()) == before, [n for _, n in socket.if_nameindex()])
    print([entry.name for entry in os.scandir("/dev/shm") if not entry.is_dir()])
"""
    said = tried(code).splitlines()
    if said[0] == "False":
        pytest.skip("no user namespace can be made here")
    assert said[1:] == ["True ['lo']", "[]"]


def test_it_goes_on_where_the_kernel_has_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    code = """
def refused(*_): raise OSError(38, "Function not implemented")
sandbox._system_call = refused
sandbox._MACHINES = {}
class Libc:
    def unshare(self, *_): return -1
sandbox._libc = Libc
sandbox._succeeds_in_a_fork = lambda _: False
import tempfile
with tempfile.TemporaryDirectory() as folder:
    print({**sandbox.confine_zygote(folder, []), **sandbox.confine_child(sandbox.writable_for(folder, []))})
"""
    assert tried(code) == "{'home': 'scratch'}"


def test_a_sandbox_that_cannot_be_made_is_named() -> None:
    spec = WorkerSpec("trespasser", HANDLER, allowed=("~/\x00",))  # no path
    with Worker(spec) as one, pytest.raises(StartError, match="its sandbox"):
        one.call({"do": "read", "path": "/"})
