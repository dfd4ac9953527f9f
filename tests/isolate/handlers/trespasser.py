"""Does what no component has any business with, and answers how the machine took it."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path


def handle(request, values):
    try:
        return {"did": globals()["do_" + request["do"]](request)}, []
    except OSError as error:
        return {"refused": error.strerror or str(error), "type": type(error).__name__}, []


def do_connect(request):
    with socket.create_connection(("127.0.0.1", request["port"]), 5) as line:
        return line.recv(5).decode()


def do_talk_to_itself(request):
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname(), 5) as line:
        server.accept()[0].sendall(b"hello")
        return line.recv(5).decode()


def do_name_a_thread(request):
    """As a driver names the threads that it starts: in a file, which is another one for each thread."""
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        Path(f"/proc/self/task/{thread.native_id}/comm").write_text("mine")
        return Path(f"/proc/self/task/{thread.native_id}/comm").read_text().strip()
    finally:
        end.set()
        thread.join()


def do_write(request):
    Path(request["path"]).write_text("mine")


def do_write_home(request):
    place = Path.home() / ".cache" / "new" / "file"
    place.parent.mkdir(parents=True)
    place.write_text("mine")
    return [str(Path.home()), os.environ.get("XDG_CACHE_HOME", "")]


def do_append(request):
    with Path(request["path"]).open("a") as file:
        file.write("more")


def do_remove(request):
    Path(request["path"]).unlink()


def do_remove_all(request):
    shutil.rmtree(request["path"])


def do_truncate(request):
    os.truncate(request["path"], 0)


def do_rename(request):
    Path(request["path"]).rename(request["path"] + ".away")


def do_make_folder(request):
    Path(request["path"]).mkdir()


def do_shell(request):
    done = subprocess.run(["sh", "-c", request["line"]], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(done.returncode, done.stderr.strip())
    return done.stdout


def do_kill(request):
    os.kill(request["pid"], signal.SIGTERM)


def do_limit(request):
    which = resource.RLIMIT_NOFILE
    own = resource.getrlimit(which)[1]
    resource.setrlimit(which, (own, own))  # of itself
    resource.prlimit(request["pid"], which)  # only asked
    resource.prlimit(request["pid"], which, (1, 1))


def do_move_within(request):
    """As compilers and caches do: write beside, then move into place, in another folder."""
    Path("cache", "ab").mkdir(parents=True)
    Path("cache.tmp").write_text("x")
    Path("cache.tmp").replace("cache/ab/x")
    Path(os.devnull).write_text("x")
    return Path("cache/ab/x").read_text()


def do_read(request):
    return Path(request["path"]).read_text()


def do_leave_memory(request):
    """As a pool of processes does that is killed: named semaphores and memory, and no process that removes them."""
    tracker = "import multiprocessing.resource_tracker as t; t.register = lambda *_: None"
    code = f"{tracker}\nimport multiprocessing as m, os, signal; p = m.get_context('spawn'); q = p.Queue(), p.Lock()\n"
    code += "from multiprocessing.shared_memory import SharedMemory as S; s = S(create=True, size=64)\n"
    subprocess.run([sys.executable, "-c", code + "os.kill(os.getpid(), signal.SIGKILL)"], check=False)
    Path("/dev/shm/left/within").mkdir(parents=True)
    Path("/dev/shm/link").symlink_to("/dev")
    names = do_memory(request)
    if request["dies"]:
        os.kill(os.getpid(), signal.SIGKILL)
    return names


def do_memory(request):
    return sorted(path.name for path in Path("/dev/shm").iterdir())
