"""A handler whose children become another program, which knows nothing of irfuzz but docs/worker_protocol.md."""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
from typing import Any


def program() -> list[str]:
    return [sys.executable, "-S", __file__]


def handle(_request: dict[str, Any], _values: list[Any]) -> Any:
    raise RuntimeError("the other program answers")


def exactly(stream: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = stream.recv(count - len(data))
        if not more:
            sys.exit(0)
        data += more
    return data


def tried(what: str) -> str:
    """How an attempt to leave the sandbox ends."""
    try:
        if what == "network":
            socket.create_connection(("192.0.2.1", 80), 1)
        else:
            open(what, "w").close()  # noqa: PTH123
    except OSError as error:
        return type(error).__name__
    return "it could"


def answer(request: dict[str, Any]) -> dict[str, Any]:
    if request["do"] == "exit":
        os._exit(7)
    if request["do"] == "refuse":
        raise NotImplementedError("it has no such thing")
    return {"pid": os.getpid(), "try": tried(request["try"]) if "try" in request else ""}


def told(request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"exit": "ok", "response": answer(request), "seconds": 1}  # no fraction, as other languages write it
    except NotImplementedError as error:
        about = {"type": "NotImplementedError", "message": str(error), "traceback": ""}
        return {"exit": "error", "error": about, "seconds": 0.5}


def main() -> None:
    stream = socket.socket(fileno=int(sys.argv[1]))
    while True:
        _, number, meta, body = struct.unpack("<8sQQQ", exactly(stream, 32))
        message, data = json.loads(exactly(stream, meta)), exactly(stream, body)
        values: list[Any] = []
        if message["kind"] == "calls":
            answers = []
            for place, call in enumerate(message["calls"]):
                os.pwrite(2, struct.pack("<Q", place), 0)
                answers.append({**told(call["request"]), "count": 0})
            reply = {"exit": "ok", "response": {"answers": answers}, "seconds": 0.5}
            data = b""
        elif message["kind"] == "call":
            reply, values = told(message["request"]), message["values"]  # what came goes back
        else:
            reply, data = {"exit": "ok", "response": {}, "seconds": 0.5}, b""
        if reply["exit"] != "ok":
            values, data = [], b""
        text = json.dumps({**reply, "values": values}).encode()
        stream.sendall(struct.pack("<8sQQQ", b"IRFUZZ\x01\n", number, len(text), len(data)) + text + data)


if __name__ == "__main__":
    main()
