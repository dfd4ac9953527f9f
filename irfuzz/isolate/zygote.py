"""The process that imports a component once and forks children on command; it reports how they end.

Run by path in the interpreter of the component under test, which has no irfuzz. It imports the component and the
handler and then runs none of their code: a fork after TensorFlow has run an operator hangs, after a mere import
it works.
"""

from __future__ import annotations

import sys

_HERE = __file__.rpartition("/")[0]
if sys.path and sys.path[0] == _HERE:
    del sys.path[0]  # or this folder's types.py would be everybody's ``types``

import array  # noqa: E402
import contextlib  # noqa: E402
import gc  # noqa: E402
import importlib  # noqa: E402
import importlib.util  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import select  # noqa: E402
import signal  # noqa: E402
import socket  # noqa: E402
import traceback  # noqa: E402
import warnings  # noqa: E402
from types import ModuleType  # noqa: E402
from typing import Any  # noqa: E402

KILL_SECONDS = 5.0
"""How long a killed child may take to go; longer only where the kernel itself is stuck."""
DUMP_SECONDS = 0.1
MESSAGE = 65536


def _load(name: str, path: str, beside: str | None = None) -> ModuleType:
    """Import a file that is on no import path; those in the folder ``beside`` are within its reach as ``.name``."""
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=[beside] if beside else None)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _received(control: socket.socket) -> tuple[bytes, list[int]]:
    """A message and the file descriptors that came with it; ``socket.recv_fds`` is there from Python 3.9 on only."""
    fds = array.array("i")
    raw, ancillary, _flags, _address = control.recvmsg(MESSAGE, socket.CMSG_LEN(4 * fds.itemsize))
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    return raw, list(fds)


class Zygote:
    """The process that has imported everything and forks one child at a time."""

    def __init__(self, control: socket.socket, setup: dict[str, Any]) -> None:
        self.control = control
        self.setup = setup
        self.linux: Any = _load("irfuzz_isolate_linux", _HERE + "/linux.py")
        self.removal: Any = _load("irfuzz_isolate_folder_removal", _HERE + "/folder_removal.py")
        self.sandbox: Any = _load("irfuzz_isolate_sandbox", _HERE + "/sandbox.py")
        self.parent = os.getppid()
        self.child: int | None = None
        self.memory: str | None = None
        self.kept: set[str] = set()
        self.wake, self.wake_write = os.pipe()
        for fd in (self.wake, self.wake_write):
            os.set_blocking(fd, False)

    def say(self, **message: Any) -> None:
        """Tell the parent a message, sent as JSON; if it is gone, end this process."""
        try:
            self.control.send(json.dumps(message).encode())
        except OSError:
            self.leave()

    def leave(self) -> None:
        """End everything below and this process; remove the scratch folder. Never returns."""
        self.linux.end_all_children(KILL_SECONDS)
        self.removal.remove_folder(self.setup["scratch"])
        os._exit(0)

    def watch_parent(self) -> None:
        """End when the parent dies, also by SIGKILL, and adopt what children leave behind."""

        def on_term(_number: int, _frame: object) -> None:
            # The kernel sends it too when only the thread that started this process has ended.
            if os.getppid() != self.parent:
                self.leave()

        signal.signal(signal.SIGTERM, on_term)
        self.linux.signal_at_parents_death(signal.SIGTERM)
        self.linux.adopt_orphans()

    def confine(self) -> None:
        """Take from this process what no import needs, while there is one thread, and see what children may change."""
        folder, allowed = self.setup["scratch"], self.setup["allowed"]
        self.writable = self.sandbox.writable_for(folder, allowed)
        holds = self.sandbox.confine_zygote(folder, allowed)
        self.memory = self.sandbox.SHARED_MEMORY if "memory" in holds else None

    def imports(self) -> bool:
        """Import numpy, the preloaded modules and the handler; tell the parent what fails.

        Returns:
            Whether all are there.
        """
        step = "its sandbox"
        try:
            self.confine()
            step = "numpy"
            self.say(op="importing", what=step)
            self.transport = _load("irfuzz_isolate_transport", _HERE + "/transport.py")
            self.serving: Any = _load("irfuzz_isolate_child", _HERE + "/child.py", _HERE)
            for step in self.setup["preload"]:
                self.say(op="importing", what=step)
                importlib.import_module(step)
            step = self.setup["handler"]
            self.say(op="importing", what=step)
            self.handler = _load("irfuzz_isolate_handler", step, step.rpartition("/")[0])
            self.handler.handle  # noqa: B018 - an AttributeError now rather than at the first request
        except BaseException as error:  # noqa: BLE001 - whatever an import raises is told
            missing = error.name if isinstance(error, ModuleNotFoundError) else None
            self.say(
                op="failed", what=step, missing=missing, type=type(error).__name__,
                message=str(error)[:4000], traceback=traceback.format_exc()[-8000:],
            )  # fmt: skip
            return False
        return True

    def serve(self) -> None:
        """Obey the parent until it closes the control socket, and report deaths of children; never returns."""
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        signal.set_wakeup_fd(self.wake_write, warn_on_full_buffer=False)
        gc.collect()
        if self.memory:
            self.kept = set(os.listdir(self.memory))  # noqa: PTH208 - what imports have made there
        gc.freeze()  # keeps the collector of a child from touching, and so copying, all pages
        warnings.filterwarnings("ignore", message=".*fork.*", category=DeprecationWarning)
        self.say(
            op="ready", python=sys.version.split()[0], numpy=sys.modules["numpy"].__version__,
            resident=self.linux.resident(os.getpid()),
        )  # fmt: skip
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(self.wake, select.POLLIN)
        while True:
            ready = [fd for fd, _ in poll.poll(1000)]
            if self.wake in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self.wake, 4096)
            self.reap()
            if self.control.fileno() in ready:
                self.obey()

    def reap(self) -> None:
        """Take note of processes that ended by themselves: the child, or orphans that were adopted."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.child:
                self.bury(status, usage.ru_maxrss * 1024, killed=False)

    def bury(self, status: int, peak: int, killed: bool) -> None:
        """After the child's death end what it left behind, and tell the parent.

        Args:
            status: as ``os.wait4`` gives it.
            peak: largest resident size in bytes.
            killed: whether it ended because it was told to.
        """
        pid, self.child = self.child, None
        assert pid is not None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)  # its session outlives it where it had children
        left = self.linux.end_all_children(KILL_SECONDS)
        self.clear_memory()
        self.say(op="died", pid=pid, status=status, peak=peak, killed=killed, left=left)

    def clear_memory(self) -> None:
        """Remove what children have left in shared memory, if it is this worker's own; none of them runs any more."""
        if self.memory is None:
            return
        for name in set(os.listdir(self.memory)) - self.kept:  # noqa: PTH208
            path = self.memory + "/" + name
            with contextlib.suppress(OSError):
                if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114 - as text
                    self.removal.remove_folder(path)
                else:
                    os.unlink(path)  # noqa: PTH108

    def obey(self) -> None:
        """Carry out one command of the parent: ``fork`` or ``kill``. A closed socket is the command to leave."""
        raw, fds = _received(self.control)
        if not raw:
            self.leave()
        command = json.loads(raw)
        if command["op"] == "fork":
            self.fork(command, fds)
        elif command["op"] == "kill":
            self.kill(command["dump"])

    def kill(self, dump: bool) -> None:
        """End the child; with ``dump`` it is first asked to write a traceback of each thread to its log.

        A child that is dead already is reported as one that died by itself.
        """
        if self.child is None:
            return  # it died meanwhile, and that has been told
        ended: tuple[int, int] | None = self.linux.wait_for(self.child, 0)
        if ended is not None:
            self.bury(*ended, killed=False)
            return
        if dump:
            os.kill(self.child, signal.SIGUSR1)
            ended = self.linux.wait_for(self.child, DUMP_SECONDS)
        if ended is None:
            self.linux.kill(self.child)
            ended = self.linux.wait_for(self.child, KILL_SECONDS)
        if ended is not None:
            self.bury(*ended, killed=True)

    def fork(self, command: dict[str, Any], fds: list[int]) -> None:
        """Make the next child, in a session of its own, and tell the parent its process id or why there is none.

        Args:
            command: the limits and the working folder of the child.
            fds: its socket and its log; they are closed here.
        """
        data_fd, log_fd = fds
        limit = command.pop("memory_bytes")
        command["data_bytes"] = None if limit is None else self.linux.data_size() + limit
        me = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            pid = -1
            self.say(op="nofork", message=str(error))
        if pid == 0:
            try:
                self.linux.signal_at_parents_death(signal.SIGKILL)
                if os.getppid() != me:
                    os._exit(1)
                os.setsid()
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                self.control.close()
                os.close(self.wake)
                os.close(self.wake_write)
                self.sandbox.confine_child(self.writable)
                self.serving.run(self.transport, self.handler, socket.socket(fileno=data_fd), log_fd, command)
            finally:
                os._exit(1)
        os.close(data_fd)
        os.close(log_fd)
        if pid > 0:
            self.child = pid
            self.say(op="forked", pid=pid)


def main() -> None:
    """Run ``zygote.py CONTROL_FD``: the first message on the socket is the setup.

    Imports that take too long are ended by an alarm of the kernel.
    """
    control = socket.socket(fileno=int(sys.argv[1]))
    control.set_inheritable(False)
    raw = control.recv(MESSAGE)
    if not raw:
        return
    setup = json.loads(raw)
    sys.argv = [setup["handler"]]  # for components that look at it
    if sys.version_info < (3, 7):  # noqa: UP036 - the interpreter is whichever the user named
        message = "Python " + sys.version.split()[0] + " is too old; a worker needs 3.7"
        control.send(json.dumps({"op": "failed", "what": "sys", "missing": None, "type": "ImportError",
                                 "message": message, "traceback": ""}).encode())  # fmt: skip
        return
    # The kernel's own alarm: an import that hangs in C runs no Python handler.
    signal.setitimer(signal.ITIMER_REAL, setup["start_seconds"])
    zygote = Zygote(control, setup)
    zygote.watch_parent()
    if not zygote.imports():
        zygote.leave()
    signal.setitimer(signal.ITIMER_REAL, 0)
    zygote.serve()


if __name__ == "__main__":
    main()
