"""Values cross bit for bit, whatever type, shape and layout; what is no frame is a ProtocolError and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from irfuzz.isolate import Limits, Tagged, Worker, WorkerSpec, transport
from irfuzz.isolate.transport import EXTENDED, HEADER, MAGIC, STANDARD, FrameReader, ProtocolError

HANDLERS = Path(__file__).parent / "handlers"
AVAILABLE = sorted(name for name in EXTENDED if hasattr(ml_dtypes, name))


def dtype_of(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name)) if name in EXTENDED else np.dtype(name)


def reader(data: bytes, pieces: list[int] | None = None, max_body: int = 1 << 24) -> FrameReader:
    """A reader of ``data`` that arrives in pieces of these sizes."""
    state = {"at": 0, "call": 0}

    def receive(target: memoryview) -> int:
        size = len(target)
        if pieces:
            size = min(size, pieces[state["call"] % len(pieces)])
        piece = data[state["at"] : state["at"] + size]
        target[: len(piece)] = piece
        state["at"] += len(piece)
        state["call"] += 1
        return len(piece)

    return FrameReader(receive, max_body)


def through(values: list[Any], pieces: list[int] | None = None) -> list[Any]:
    """The values after their way through a frame."""
    sent = b"".join(bytes(part) for part in transport.encode(7, {"kind": "test"}, values))
    request_id, meta, body = reader(sent, pieces).read()
    message, restored = transport.decode(meta, body)
    assert (request_id, message) == (7, {"kind": "test"})
    return restored


def same(got: Any, sent: Any) -> None:
    if isinstance(sent, list):
        assert isinstance(got, list)
        assert len(got) == len(sent)
        for one, other in zip(got, sent, strict=True):
            same(one, other)
    elif isinstance(sent, np.ndarray):
        assert (got.dtype, got.shape) == (sent.dtype, sent.shape)
        if sent.dtype == object:
            assert got.tolist() == sent.tolist()
        else:
            assert got.tobytes() == sent.tobytes()
            assert got.flags.writeable
            assert got.flags.c_contiguous
    else:
        assert type(got) is type(sent)
        assert got == sent


names = st.sampled_from(sorted({np.dtype(name).name for name in STANDARD if hasattr(np, name)} | set(AVAILABLE)))
shapes = hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=5)


@st.composite
def tensors(draw: st.DrawFn) -> np.ndarray:
    """Any bits of any type in any shape, in any memory layout."""
    dtype, shape = dtype_of(draw(names)), draw(shapes)
    size = int(np.prod(shape)) * dtype.itemsize
    array = np.frombuffer(bytearray(draw(st.binary(min_size=size, max_size=size))), np.uint8).view(dtype).reshape(shape)
    layout = draw(st.sampled_from(["c", "fortran", "reversed", "transposed", "strided"]))
    if layout == "fortran":
        return np.asfortranarray(array)
    if layout == "reversed" and array.ndim:
        return array[::-1]
    if layout == "transposed":
        return array.T
    if layout == "strided" and array.ndim:
        return array[..., ::2]
    return array


texts = st.text(st.characters(), max_size=8)  # lone surrogates too
strings = shapes.flatmap(
    lambda shape: hnp.arrays(object, shape, elements=texts | st.binary(max_size=8), fill=st.nothing())
)
values = st.recursive(
    st.none() | st.binary(max_size=200) | tensors() | strings, lambda inner: st.lists(inner, max_size=4), max_leaves=8
)


@given(st.lists(values, max_size=5), st.lists(st.integers(1, 300), max_size=5))
@settings(max_examples=200, deadline=None)
def test_round_trip(sent: list[Any], pieces: list[int]) -> None:
    same(through(sent, pieces), sent)


@pytest.mark.parametrize(
    "size", [0, 1, transport.COPY - 1, transport.COPY, transport.COPY + 1, transport.FIRST_READ * 3]
)
def test_round_trip_of_sizes_around_the_limits(size: int) -> None:
    rng = np.random.default_rng(size)
    sent = [rng.integers(0, 255, size, np.uint8), rng.bytes(size), rng.integers(0, 255, (2, size), np.uint8).T]
    same(through(sent), sent)


def test_byte_order_and_text_types_become_the_usual_ones() -> None:
    got = through(
        [np.arange(3, dtype=">i4"), np.array(["a", "bcd"]), np.array([b"x", b"yz"]), np.float32(2.5), (1 * np.ones(2),)]
    )
    same(got[0], np.arange(3, dtype=np.int32))
    same(got[1], np.array(["a", "bcd"], object))
    same(got[2], np.array([b"x", b"yz"], object))
    same(got[3], np.array(2.5, np.float32))
    same(got[4], [np.ones(2)])


def test_a_map_becomes_its_sorted_keys_and_their_values() -> None:
    (got,) = through([{"b": 0.5, "a": 0.25}])
    same(got, [np.array(["a", "b"], object), np.array([0.25, 0.5], np.float32)])
    (got,) = through([{7: 1, -2: 3}])
    same(got, [np.array([-2, 7]), np.array([3, 1])])
    (got,) = through([{1: "x", 0: "y"}])
    same(got, [np.array([0, 1]), np.array(["y", "x"], object)])
    (got,) = through([{0: np.ones(2), 1: np.zeros(3)}])
    same(got, [np.array([0, 1]), [np.ones(2), np.zeros(3)]])


def test_floats_of_a_map_are_single_where_that_loses_nothing() -> None:
    (single,), (double,) = through([{0: float(np.float32(0.1))}])[0][1:], through([{0: 0.1}])[0][1:]
    assert (single.dtype, double.dtype) == (np.float32, np.float64)
    (special,) = through([{0: float("nan"), 1: float("inf")}])[0][1:]
    same(special, np.array([np.nan, np.inf], np.float32))
    (large,) = through([{0: 1e300}])[0][1:]
    assert large.dtype == np.float64


def test_maps_with_the_same_keys_become_one_with_a_row_for_each() -> None:
    (got,) = through([[{2: 0.5, 1: 0.25}, {1: 1.0, 2: 0.0}]])
    same(got, [np.array([1, 2]), np.array([[0.25, 0.5], [1.0, 0.0]], np.float32)])
    (got,) = through([[{1: 0.5}, {2: 0.5}]])
    same(got, [[np.array([1]), np.array([0.5], np.float32)], [np.array([2]), np.array([0.5], np.float32)]])
    assert through([[]]) == [[]]


@pytest.mark.parametrize(
    "value",
    [
        object(),
        {"a": 1, 2: 3},
        {"a": object()},
        1,
        "text",
        np.array([None], object),
        np.zeros(2, "M8[s]"),
        np.zeros(2, [("a", "f4")]),
        np.zeros(2, "V3"),
    ],
)
def test_what_cannot_be_sent(value: Any) -> None:
    with pytest.raises(TypeError):
        transport.encode(1, {}, [value])


def test_nesting_is_bounded() -> None:
    value: list[Any] = []
    for _ in range(transport.MAX_DEPTH - 1):
        value = [value]
    same(through([value]), [value])
    with pytest.raises(TypeError, match="deep"):
        transport.encode(1, {}, [[value]])


@given(st.binary(max_size=300))
def test_random_bytes_are_no_frame(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        reader(data).read()


SAMPLE = b"".join(
    bytes(part)
    for part in transport.encode(
        3,
        {"exit": "ok"},
        [np.arange(5, dtype=np.int16), [np.array(["ä", b"\xff"], object), None], b"model", np.ones((2, 0))],
    )
)


@given(st.lists(st.tuples(st.integers(0, len(SAMPLE) - 1), st.integers(0, 255)), min_size=1, max_size=4))
@settings(max_examples=400, deadline=None)
def test_damaged_frames_give_values_or_a_protocol_error(damage: list[tuple[int, int]]) -> None:
    data = bytearray(SAMPLE)
    for at, byte in damage:
        data[at] = byte
    try:
        _, meta, body = reader(bytes(data)).read()
        _, values = transport.decode(meta, body)
    except ProtocolError:
        return
    assert isinstance(values, list)


@given(st.integers(0, len(SAMPLE) - 1))
def test_frames_cut_short(size: int) -> None:
    with pytest.raises(transport.Closed):
        reader(SAMPLE[:size]).read()


def test_bytes_after_a_frame() -> None:
    with pytest.raises(transport.Trailing, match="3 bytes") as caught:
        reader(SAMPLE + b"abc").read()
    assert caught.value.request_id == 3


def test_body_that_is_too_long_is_refused_before_it_is_read() -> None:
    asked: list[int] = []

    def receive(target: memoryview) -> int:
        asked.append(len(target))
        head = HEADER.pack(MAGIC, 1, 0, (1 << 20) + 1)
        target[: len(head)] = head
        return len(head)

    with pytest.raises(ProtocolError, match="claims"):
        FrameReader(receive, 1 << 20).read()
    assert len(asked) == 1


@given(st.lists(st.binary(max_size=50), max_size=1200), st.lists(st.integers(1, 400), min_size=1))
@settings(max_examples=50, deadline=None)
def test_write_goes_on_where_the_kernel_stopped(parts: list[bytes], portions: list[int]) -> None:
    arrived = bytearray()
    calls = 0

    def send(buffers: Any) -> int:
        nonlocal calls
        assert len(buffers) <= 1024
        taken = b"".join(bytes(buffer) for buffer in buffers)[: portions[calls % len(portions)]]
        calls += 1
        arrived.extend(taken)
        return len(taken)

    transport.write(send, parts)
    assert bytes(arrived) == b"".join(parts)


def test_every_dtype_through_a_worker(worker: Worker) -> None:
    sent: list[Any] = []
    for name in sorted(STANDARD | set(AVAILABLE)):
        bits = np.random.default_rng(0).integers(0, 256, 6 * dtype_of(name).itemsize, np.uint8)
        sent.append(bits.view(dtype_of(name)).reshape(2, 3))
    sent += [np.array("x", object), np.zeros((0, 3), object), None, [], [[None], [np.array(1.0)]], b""]
    reply = worker.call({"do": "echo"}, sent)
    assert reply.exit == "ok", reply
    same(reply.values, sent)


def test_large_and_many_values_through_a_worker(worker: Worker) -> None:
    rng = np.random.default_rng(0)
    sent: list[Any] = [
        rng.integers(0, 255, 24 << 20, np.uint8),
        *(np.full(i % 7, i) for i in range(3000)),
        rng.bytes(1 << 20),
    ]
    reply = worker.call({"do": "echo"}, sent)
    assert reply.exit == "ok", reply
    same(reply.values, sent)


def test_answer_longer_than_allowed(many: WorkerSpec) -> None:
    with Worker(many, Limits(answer_bytes=1 << 20)) as worker:
        assert worker.call({"do": "echo"}, [b"x" * (1 << 20)]).exit == "ok"
        assert worker.call({"do": "echo"}, [b"x" * (1 << 20) + b"y"]).exit == "protocol"
        assert worker.call({"do": "echo"}).exit == "ok"


def test_worker_without_ml_dtypes() -> None:
    spec = WorkerSpec("bare", HANDLERS / "many.py", env={"PYTHONPATH": str(HANDLERS / "without_ml_dtypes")})
    sent = [np.arange(-4, 4).astype(dtype_of(name)).reshape(2, 2, 2) for name in AVAILABLE]
    with Worker(spec) as worker:
        reply = worker.call({"do": "tell"}, sent)
    assert reply.response["values"] == [f"Tagged {name}" for name in AVAILABLE]
    same(reply.values, sent)


def test_tagged_is_checked() -> None:
    with pytest.raises(TypeError, match="float9"):
        Tagged("float9", np.zeros(1, np.uint8))
    with pytest.raises(TypeError, match="16-bit"):
        Tagged("bfloat16", np.zeros(1, np.uint8))
    tagged = Tagged("bfloat16", np.array([[0x3F80]], np.uint16))
    same(through([tagged])[0], np.ones((1, 1), ml_dtypes.bfloat16))


def test_a_frame_is_readable_without_this_module() -> None:
    magic, request_id, meta_size, body_size = HEADER.unpack_from(SAMPLE)
    assert (magic, request_id) == (b"IRFUZZ\x01\n", 3)
    meta = json.loads(SAMPLE[HEADER.size : HEADER.size + meta_size])
    assert meta["values"][0] == ["t", "int16", [5]]
    assert SAMPLE[HEADER.size + meta_size :][:10] == np.arange(5, dtype="<i2").tobytes()
    assert len(SAMPLE) == HEADER.size + meta_size + body_size
