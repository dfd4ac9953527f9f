"""Blobs of a fleet are there whole or not at all, in a folder and in S3, whatever goes wrong on the way."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from irfuzz.errors import InternalError, UsageError
from irfuzz.fleet.blob_sweep import missing_blobs, sweep_blobs
from irfuzz.fleet.shared_blobs import SharedBlobs
from irfuzz.fleet.store_connection import StoreConnection, StoreUnreachable
from irfuzz.store.blob_store import digest_of

pytestmark = pytest.mark.unit

DATA = b"weights " * 5000


def test_what_is_put_is_there_once_and_small(blobs: SharedBlobs) -> None:
    digest = blobs.put(DATA)
    assert digest == digest_of(DATA) == blobs.put(memoryview(DATA))
    assert blobs.get(digest) == DATA
    assert bytes(blobs.map(digest)) == DATA
    assert blobs.has(digest)
    assert not blobs.has("0" * 64)
    (path,) = [p for p in Path(blobs.place).rglob("*") if p.is_file()]
    assert path.stat().st_size < len(DATA) / 10
    with pytest.raises(InternalError, match="there is no blob 0000"):
        blobs.get("0" * 64)


def test_half_a_blob_is_not_taken_for_one(blobs: SharedBlobs) -> None:
    digest = blobs.put(DATA)
    (path,) = [p for p in Path(blobs.place).rglob("*") if p.is_file()]
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(StoreUnreachable, match="came damaged: 20 bytes"):
        blobs.get(digest)
    again = SharedBlobs(blobs.place)
    assert again.put(DATA) == digest  # another agent heals it
    assert again.get(digest) == DATA


def test_a_place_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnreachable, match="the place cannot be written"):
        SharedBlobs(str(tmp_path / "file" / "blobs")).check()
    with pytest.raises(UsageError, match="--blobs nonsense://x: expected a folder or a URL"):
        SharedBlobs("nonsense://x")


def test_the_sweep_leaves_what_is_new_and_what_is_named(store: StoreConnection, blobs: SharedBlobs) -> None:
    from irfuzz.fleet.program_exchange import give_seeds
    from tests.fleet.made import seed

    assert give_seeds(store, blobs, [("a.onnx", seed())]) == 1
    orphan = blobs.put(DATA)
    assert sweep_blobs(store, blobs) == 0
    for path in Path(blobs.place).rglob("*.zst"):
        os.utime(path, (time.time() - 7200,) * 2)
    assert sweep_blobs(store, blobs) == 1
    assert not blobs.has(orphan)
    assert missing_blobs(store, blobs) == set()
    assert len(list(blobs.digests())) == 1


class FaultyProxy:
    """Passes a connection on to a server, or does to it what networks do."""

    def __init__(self, port: int) -> None:
        self.faults: list[str] = []
        self._to = port
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._pass, args=(client,), daemon=True).start()

    def _pass(self, client: socket.socket) -> None:
        with client:
            first = client.recv(65536)
            fault = self.faults.pop(0) if self.faults and first else ""
            if fault == "503":
                client.sendall(b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return
            if fault == "timeout":
                time.sleep(3)
                return
            with socket.create_connection(("127.0.0.1", self._to)) as server:
                if fault == "half":
                    server.sendall(first[: len(first) // 2])
                    return
                server.sendall(first)
                threading.Thread(target=self._pump, args=(client, server), daemon=True).start()
                self._pump(server, client)

    @staticmethod
    def _pump(source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            return


@pytest.fixture(scope="module")
def s3() -> Iterator[FaultyProxy]:
    """A server of S3 behind a proxy."""
    moto: Any = pytest.importorskip("moto.server", reason="moto is not installed")
    pytest.importorskip("s3fs", reason="the extra fleet-s3 is not installed")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    proxy = FaultyProxy(server.get_host_and_port()[1])
    yield proxy
    proxy.close()
    server.stop()


@pytest.fixture
def in_s3(s3: FaultyProxy) -> SharedBlobs:
    blobs = SharedBlobs(
        "s3://irfuzz/fleet", key="k", secret="s", endpoint_url=f"http://127.0.0.1:{s3.port}",
        skip_instance_cache=True, config_kwargs={"read_timeout": 1, "retries": {"max_attempts": 1}},
    )  # fmt: skip
    blobs._system.makedirs("irfuzz", exist_ok=True)
    blobs._system.retries = 1
    return blobs


def test_s3_keeps_blobs(in_s3: SharedBlobs, store: StoreConnection) -> None:
    in_s3.check()
    digest = in_s3.put(DATA)
    assert in_s3.get(digest) == DATA
    assert in_s3.has(digest)
    assert digest in dict(in_s3.digests())
    assert sweep_blobs(store, in_s3) == 0
    assert sweep_blobs(store, in_s3, grace=-5.0) == 1
    with pytest.raises(InternalError, match="there is no blob"):
        in_s3.get(digest)


@pytest.mark.parametrize("fault", ["503", "timeout", "half"])
def test_faults_of_s3_leave_no_half_blob(in_s3: SharedBlobs, s3: FaultyProxy, fault: str) -> None:
    data = fault.encode() * 3000
    s3.faults = [fault] * 8
    failed = 0
    while s3.faults:
        try:
            in_s3.put(data)
        except StoreUnreachable:
            failed += 1
        in_s3._held.clear()
        in_s3._system.connect(refresh=True)
    assert failed
    digest = in_s3.put(data)
    assert in_s3.get(digest) == data
