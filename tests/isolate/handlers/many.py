"""Does what the request asks for: one function for each way to answer, fail, die or misbehave."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import shutil
import signal
import stat
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

LIBC = ctypes.CDLL(None)
HELD_GIL = ctypes.PyDLL(None)
KEPT: list = []
WARM = {"count": 0}


def warm():
    WARM["count"] += 1


def describe():
    return {"component": "many", "version": "1.2.3"}


def handle(request, values):
    return globals()["do_" + request["do"]](request, values)


def pipe_fd():
    """The socket to the parent, as hostile code would find it."""
    for path in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # the descriptor that lists them
            if stat.S_ISSOCK(os.fstat(int(path.name)).st_mode):
                return int(path.name)
    raise AssertionError("no socket")


def do_echo(request, values):
    return {"got": request, "warm": WARM["count"], "pid": os.getpid()}, values


def do_raise(request, values):
    raise ValueError("no such axis: 7")


def do_segfault(request, values):
    print("last words", flush=True)
    ctypes.string_at(0)


def do_overflow(request, values):
    # Deep recursion in C: repr of a list nested deeper than the C stack is wide.
    callback = ctypes.CFUNCTYPE(None, ctypes.c_int)
    box = []
    box.append(callback(lambda n: box[0](n + 1)))
    sys.setrecursionlimit(10**9)
    box[0](0)


def do_signal(request, values):
    os.kill(os.getpid(), getattr(signal, request["signal"]))
    time.sleep(60)


def do_abort(request, values):
    os.abort()


def do_exit(request, values):
    if request["hard"]:
        os._exit(request["code"])
    sys.exit(request["code"])


def do_sleep(request, values):
    time.sleep(60)


def do_deaf(request, values):
    for number in range(1, 32):
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_IGN)
    while True:
        pass


def do_gil(request, values):
    HELD_GIL.sleep(60)


def do_compute(request, values):
    end = time.process_time() + request["processor_seconds"]
    while time.process_time() < end:
        pass
    return {}, []


def do_hog(request, values):
    KEPT.append(np.ones(request["bytes"], np.uint8))
    return {}, []


def do_shared_hog(request, values):
    """Memory that no rlimit counts."""
    import mmap

    for _ in range(request["pieces"]):
        piece = mmap.mmap(-1, 16 << 20)
        piece.write(b"x" * (16 << 20))
        KEPT.append(piece)
    time.sleep(request["sleep"])
    return {}, []


def do_child_hog(request, values):
    pid = os.fork()
    if pid == 0:
        do_shared_hog({"pieces": request["pieces"], "sleep": 60}, [])
    os.waitpid(pid, 0)


def do_close(request, values):
    os.close(pipe_fd())
    time.sleep(request["sleep"])
    return {}, []


def do_rubbish(request, values):
    os.write(pipe_fd(), request["text"].encode())
    return {}, []


def do_claim(request, values):
    """A frame header that promises far too much."""
    os.write(pipe_fd(), struct.pack("<8sQQQ", b"IRFUZZ\x01\n", request["id"], request["meta"], request["body"]))
    time.sleep(60)


def do_frame(request, values):
    """A whole frame of the caller's making, instead of an answer."""
    body = bytes(values[0])
    meta = request["meta"].encode()
    os.write(pipe_fd(), struct.pack("<8sQQQ", b"IRFUZZ\x01\n", request["id"], len(meta), len(body)) + meta + body)
    time.sleep(60)


def do_twice(request, values):
    """Answer early, and a second time by returning."""
    meta = b'{"exit":"ok","response":{"first":true},"seconds":0.0,"values":[]}'
    os.write(pipe_fd(), struct.pack("<8sQQQ", b"IRFUZZ\x01\n", request["id"], len(meta), 0) + meta)
    time.sleep(request["sleep"])
    return {}, []


def do_chatter(request, values):
    """Gigabytes on standard output and error, by every road there is."""
    block = b"chatter\n" * 131072
    for _ in range(request["mebibytes"] // 2):
        for fd in (1, 2):
            with contextlib.suppress(OSError):
                os.write(fd, block)
    for _ in range(100):
        print("print goes on")
        print("print goes on", file=sys.stderr)
        sys.stdout.flush()
    if request["then"] == "raise":
        raise RuntimeError("after much talk")
    return {}, []


def do_fork(request, values):
    """Grandchildren: one in the same session, one that leaves it, one that runs a program, and an orphan."""
    pids = []
    for leave in (False, True):
        pid = os.fork()
        if pid == 0:
            if leave:
                os.setsid()
            time.sleep(60)
            os._exit(0)
        pids.append(pid)
    pids.append(subprocess.Popen(["sleep", "60"], start_new_session=True).pid)
    read, write = os.pipe()
    middle = os.fork()
    if middle == 0:
        orphan = os.fork()
        if orphan == 0:
            os.setsid()
            time.sleep(60)
            os._exit(0)
        os.write(write, str(orphan).encode())
        os._exit(0)
    os.waitpid(middle, 0)
    pids.append(int(os.read(read, 100)))
    Path(request["note"]).write_text(" ".join(map(str, pids)))
    if request["then"] == "return":
        return {"pids": pids}, []
    if request["then"] == "crash":
        os.abort()
    if request["then"] == "kill parent":
        os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)
    return {}, []


def do_kill_parent(request, values):
    os.kill(os.getppid(), getattr(signal, request["signal"]))
    time.sleep(60)


def do_die_later(request, values):
    import threading

    threading.Timer(0.05, os.abort).start()
    return {}, []


def do_wrong(request, values):
    return {"none": None, "list": [1], "set": {}}[request["what"]] if request["what"] != "array" else ({}, [object()])


def do_unprintable(request, values):
    class Rude(Exception):
        def __str__(self):
            raise RuntimeError("no")

    raise Rude


def do_touch(request, values):
    Path("left-behind").write_text("x")
    env = {name: os.environ.get(name) for name in ("HOME", "OMP_NUM_THREADS", "EXTRA")}
    return {"cwd": str(Path.cwd()), **env}, []


def do_litter(request, values):
    """A temporary file that nobody removes."""
    import tempfile

    place = request["dir"]
    file, name = tempfile.mkstemp(dir=place and Path(place).expanduser())
    os.write(file, bytes(request["bytes"]))
    os.close(file)
    return {"name": name, "pid": os.getpid()}, []


def do_big_file(request, values):
    Path("big").write_bytes(b"x" * request["bytes"])
    return {}, []


def do_tell(request, values):
    """What arrived, in words."""

    def words(value):
        if value is None or isinstance(value, bytes):
            return repr(value)
        if isinstance(value, list):
            return [words(item) for item in value]
        return f"{type(value).__name__} {value.dtype}"

    return {"values": [words(value) for value in values]}, values


def do_tensors(request, values):
    """What an execution does: take a model and tensors, give tensors."""
    return {}, values[1:]


def do_stop_later(request, values):
    import threading

    threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGSTOP)).start()
    return {"pid": os.getpid()}, []


def do_terminate(request, values):
    """C++ without a handler for std::bad_alloc says this and aborts."""
    os.write(2, b"terminate called after throwing an instance of 'std::bad_alloc'\n")
    os.abort()


def do_say(request, values):
    raise RuntimeError(request["text"])


def do_print(request, values):
    print(request["text"], flush=True)
    return {}, []


def do_nap(request, values):
    time.sleep(request["seconds"])
    return {}, []


def do_leave(request, values):
    """Go elsewhere, as components do that change the working folder and do not come back."""
    own = Path.cwd()
    os.chdir("/")
    if request["removes"]:
        shutil.rmtree(own)
    return {}, []


def do_spin(request, values):
    """Processes and threads of its own that take the processors from one another, for ever."""
    for orphan in range(request["processes"]):
        pid = os.fork()
        if pid == 0:
            if orphan % 2 and os.fork():  # the zygote adopts every second one
                os._exit(0)
            while True:
                pass
    while True:
        pass


def do_seal(request, values):
    """Try to have nobody write into the log any more, its parent included."""
    fcntl.fcntl(2, fcntl.F_ADD_SEALS, 0x8)  # F_SEAL_WRITE
    return {}, []


def do_halves(request, values):
    """Texts that no file takes."""
    if request["raises"]:
        raise ValueError("half \ud800 of a character")
    return {"\udfff": ["\ud800", "\U0001f600"]}, []


def do_dig(request, values):
    """Folders in one another, which nobody may enter."""
    here = Path.cwd()
    Path("closed/inner").mkdir(parents=True)
    Path("closed/inner/file").write_text("x")
    Path("closed").chmod(0)
    Path("link").symlink_to(request["outside"])
    for _ in range(request["levels"]):
        Path("d").mkdir()
        os.chdir("d")
    Path("file").write_text("x")
    os.chdir(here)
    return {}, []
