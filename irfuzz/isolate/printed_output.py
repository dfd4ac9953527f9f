"""Reads what a process prints without keeping all of it: code under test may print gigabytes."""

from __future__ import annotations

import os
import select
import subprocess
import time

KEPT = 8 << 20
"""Bytes that are kept of each end of what a process prints."""

BLOCK = 1 << 16
CLOSING_SECONDS = 5.0
"""How long an ended process, and what it has started, may hold its output open."""


def printed(process: subprocess.Popen[bytes], seconds: float, *, kept: int = KEPT) -> bytes:
    """What a process prints until it and all that has its standard output have ended.

    Args:
        process: with a pipe as standard output.
        seconds: until then.
        kept: bytes of the beginning, and of the end; what lies between them is left out, and a line says so.

    Raises:
        subprocess.TimeoutExpired: it goes on longer. Its ``output`` has what was printed by then.
    """
    pipe, end = process.stdout, time.monotonic() + seconds
    assert pipe is not None
    head, tail, left_out = bytearray(), bytearray(), 0
    waiting = select.poll()
    waiting.register(pipe, select.POLLIN)
    while True:
        left = end - time.monotonic()
        if left <= 0 or not waiting.poll(1000 * left):
            raise subprocess.TimeoutExpired(process.args, seconds, _joined(head, tail, left_out))
        block = os.read(pipe.fileno(), BLOCK)
        if not block:
            break
        room = kept - len(head)
        head += block[:room]
        tail += block[room:]
        if len(tail) > 2 * kept:
            left_out += len(tail) - kept
            del tail[: len(tail) - kept]
    try:
        process.wait(max(0.0, end - time.monotonic()))
        pipe.close()
    except subprocess.TimeoutExpired:
        raise subprocess.TimeoutExpired(process.args, seconds, _joined(head, tail, left_out)) from None
    return _joined(head, tail, left_out)


def ended(process: subprocess.Popen[bytes], seconds: float = CLOSING_SECONDS) -> None:
    """Wait for a process that was told to end; it is killed if it does not.

    Args:
        process: with a pipe as standard output, which is closed.
        seconds: until it is killed.
    """
    try:
        printed(process, seconds, kept=0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    finally:
        if process.stdout is not None:
            process.stdout.close()


def _joined(head: bytearray, tail: bytearray, left_out: int) -> bytes:
    return bytes(head + (b"\n[%d bytes left out]\n" % left_out if left_out else b"") + tail)
