"""What irfuzz makes of damaged models, as bytes and as files: an answer or one clear error, within limits.

Damages models of a folder by a seed: bytes turned, cut, repeated or removed; fields of the message set to extreme
numbers, to other words, repeated, removed or moved; and a list of models that are hostile on purpose (functions that
call themselves or double forty times, an opset of 2^62, sizes of many gigabytes behind a few bytes). Each is given to
``irfuzz.mutate`` as bytes and to ``irfuzz.frontends.onnx_file.load_seed`` as a file, in processes with a limit of
memory and time. Good is a mutant, an empty stream, or an error of irfuzz's own; bad is any other exception, a death, or
a limit that was reached.

Run ``python benchmarks/damaged_models.py [--count 2000] [--seed 0] [--jobs 2] [--keep FOLDER] [MODEL ...]``. Exit code
1 if anything is bad; ``--keep`` keeps the first models of each kind of badness.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import multiprocessing
import random
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import Message
from onnx import TensorProto, helper, numpy_helper

from irfuzz.ir.serialization.protobuf_field_encoding import block, block_tag

MOST_SECONDS = 10
MOST_BYTES = 1 << 30
LARGEST = 200_000
"""Bytes of a model that is damaged; larger ones only take longer."""

NUMBERS = (-1, 0, 1, 2, 7, 255, 2**31 - 1, 2**31, 2**62, -(2**63), 2**63 - 1)
WORDS = ("", " ", "\0", "x" * 70_000, "ai.onnx", "If", "Loop", "Constant", "Reshape", "é\u202e", "../../etc/passwd")


def damaged_bytes(data: bytes, rng: random.Random) -> bytes:
    """A serialised model with a few places of its bytes spoilt."""
    spoilt = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        at, length = rng.randrange(len(spoilt) + 1), rng.choice((1, 2, 8, 64))
        match rng.randrange(5):
            case 0:
                spoilt[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                del spoilt[at : at + length]
            case 2:
                spoilt[at:at] = spoilt[at : at + length]
            case 3:
                del spoilt[at:]
            case _:
                spoilt[at : at + length] = bytes(rng.choice((0, 255)) for _ in range(length))
    return bytes(spoilt)


def messages_of(message: Message) -> Iterator[Message]:
    """The message and all within it."""
    yield message
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for one in value if _repeated(field) else [value]:
                yield from messages_of(one)


def _repeated(field: Any) -> bool:
    return bool(field.is_repeated) if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED


def damaged_fields(data: bytes, rng: random.Random) -> bytes:
    """A model with a few fields of its message set to what they should not be."""
    model = onnx.load_model_from_string(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        message = rng.choice(list(messages_of(model)))
        fields = message.DESCRIPTOR.fields
        field = (
            rng.choice([f for f, _ in message.ListFields()] or list(fields))
            if rng.random() < 0.8
            else rng.choice(fields)
        )
        with contextlib.suppress(ValueError, TypeError):  # out of the field's range: another damage follows
            _spoil(message, field, rng)
    return model.SerializeToString()


def _spoil(message: Message, field: Any, rng: random.Random) -> None:
    values = getattr(message, field.name)
    if rng.random() < 0.2:
        message.ClearField(field.name)
    elif _repeated(field):
        kind = rng.randrange(4)
        if field.type == field.TYPE_MESSAGE:
            if kind == 0 and values:
                del values[rng.randrange(len(values))]
            elif kind == 1 and values:
                values.add().CopyFrom(rng.choice(values))
            elif kind == 2 and len(values) > 1:
                a, b = rng.sample(range(len(values)), 2)
                kept = type(values[a])()
                kept.CopyFrom(values[a])
                values[a].CopyFrom(values[b])
                values[b].CopyFrom(kept)
            else:
                values.add()
        elif kind == 0 and values:
            del values[rng.randrange(len(values))]
        elif kind == 1 and values:
            values.extend([rng.choice(values)] * rng.choice((1, 5)))
        else:
            one = _value(field, rng, message)
            if values and kind == 2:
                values[rng.randrange(len(values))] = one
            else:
                values.append(one)
    elif field.type == field.TYPE_MESSAGE:
        values.SetInParent()
    else:
        setattr(message, field.name, _value(field, rng, message))


def _value(field: Any, rng: random.Random, message: Message) -> Any:
    match field.cpp_type:
        case field.CPPTYPE_STRING:
            text = rng.choice(WORDS)
            return text.encode() if field.type == field.TYPE_BYTES else text
        case field.CPPTYPE_FLOAT | field.CPPTYPE_DOUBLE:
            return rng.choice((0.0, -1.0, 1e38, float("inf"), float("nan")))
        case field.CPPTYPE_ENUM:
            return rng.choice([v.number for v in field.enum_type.values])
        case _:
            return rng.choice(NUMBERS)


def hostile() -> dict[str, bytes]:
    """Models that were made to do harm, by name."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    found: dict[str, bytes] = {}

    def keep(
        name: str, nodes: Sequence[Any], constants: Sequence[Any] = (), functions: Sequence[Any] = (), rank: int = 2
    ) -> None:
        kind = TensorProto.INT64 if nodes[-1].op_type == "Range" else TensorProto.FLOAT
        y = helper.make_tensor_value_info("y", kind, [None] * rank)
        graph = helper.make_graph(nodes, "g", [x], [y], constants)
        found[name] = helper.make_model(graph, opset_imports=opsets, functions=functions).SerializeToString()

    def function(name: str, nodes: Sequence[Any]) -> Any:
        return helper.make_function("own", name, ["a"], ["b"], nodes, opsets)

    def sizes(*numbers: int) -> Any:
        return numpy_helper.from_array(np.array(numbers, np.int64), "s")

    call = helper.make_node
    itself = function("f", [call("f", ["a"], ["b"], domain="own")])
    keep("a function that calls itself", [call("f", ["x"], ["y"], domain="own")], functions=[itself])
    one, other = (function(n, [call(m, ["a"], ["b"], domain="own")]) for n, m in ("fg", "gf"))
    keep("two functions that call each other", [call("f", ["x"], ["y"], domain="own")], functions=[one, other])
    twice = [
        function(
            f"f{i}",
            [call("Relu", ["a"], ["b"])]
            if not i
            else [call(f"f{i - 1}", ["a"], ["c"], domain="own"), call(f"f{i - 1}", ["c"], ["b"], domain="own")],
        )
        for i in range(41)
    ]
    keep("forty doublings", [call("f40", ["x"], ["y"], domain="own")], functions=twice)
    for op in ("Expand", "Tile", "Reshape"):
        keep(f"{op} to many gigabytes", [call(op, ["x", "s"], ["y"])], [sizes(1_600_000_000, 3)])
        keep(f"{op} to 2^62", [call(op, ["x", "s"], ["y"])], [sizes(2**62, 3)])
    keep("Tile beyond int64", [call("Tile", ["x", "s"], ["y"])], [sizes(1, 2**62)])
    keep("ConstantOfShape of many gigabytes", [call("ConstantOfShape", ["s"], ["y"])], [sizes(70_000, 70_000)])
    keep("Pad to many gigabytes", [call("Pad", ["x", "s"], ["y"])], [sizes(0, 0, 70_000, 70_000)])
    keep(
        "Range of 2^40",
        [call("Range", ["s", "t", "u"], ["y"])],
        [numpy_helper.from_array(np.array(v, np.int64), n) for n, v in (("s", 0), ("t", 2**40), ("u", 1))],
        rank=1,
    )
    places, values = np.array([1, 2]), np.array([0.0, 1.0], np.float32)
    given = [sizes(2**33), numpy_helper.from_array(places, "i"), numpy_helper.from_array(values, "v")]
    keep("OneHot of 2^33", [call("OneHot", ["i", "s", "v"], ["y"])], given)
    grown = [call("Concat", [f"v{i}"] * 8, [f"v{i + 1}"], axis=0) for i in range(14)]
    keep("eightfold Concat, fourteen times", [call("Identity", ["x"], ["v0"]), *grown, call("Relu", ["v14"], ["y"])])
    _keep_more_that_cannot_be_held(keep, found)
    deep: Any = None
    for _ in range(150):
        inner = (
            [call("Identity", ["x"], ["o"])]
            if deep is None
            else [call("If", ["c"], ["o"], then_branch=deep, else_branch=deep)]
        )
        if deep is not None and len(deep.SerializeToString()) > 10_000:
            break
        deep = helper.make_graph(inner, "b", [], [helper.make_tensor_value_info("o", TensorProto.FLOAT, [None, None])])
    keep(
        "branches in branches",
        [call("If", ["c"], ["y"], then_branch=deep, else_branch=deep)],
        [numpy_helper.from_array(np.ones((), bool), "c")],
    )
    model = onnx.load_model_from_string(found["Expand to 2^62"])
    model.opset_import[0].version = 2**62
    found["an opset of 2^62"] = model.SerializeToString()
    found["nothing"] = b""
    found["rubbish"] = bytes(range(256)) * 20
    nested = b""
    for _ in range(3000):  # a graph in an attribute in a node in a graph ...
        for number in (6, 5, 1):
            nested = block(block_tag(number), nested)
    found["three thousand graphs in one another"] = b"\x08\x08" + block(block_tag(7), nested)
    return found


def _keep_more_that_cannot_be_held(keep: Callable[..., None], found: dict[str, bytes]) -> None:
    """Sizes that only a run knows, bodies that grow, and what is just small enough to be tried."""
    call = helper.make_node

    def numbers(name: str, *values: int) -> Any:
        return numpy_helper.from_array(np.array(values, np.int64), name)

    def body(nodes: Sequence[Any], outputs: Sequence[str]) -> Any:
        kinds = {"i": TensorProto.INT64, "c": TensorProto.BOOL}
        given = [helper.make_tensor_value_info(n, kinds[n], []) for n in ("i", "c")]
        shapes: dict[str, list[Any]] = {"c_": []}
        made = [
            helper.make_tensor_value_info(
                n, TensorProto.BOOL if n == "c_" else TensorProto.FLOAT, shapes.get(n, [None, None])
            )
            for n in outputs
        ]
        carried = helper.make_tensor_value_info("v", TensorProto.FLOAT, [None, None])
        return helper.make_graph([call("Identity", ["c"], ["c_"]), *nodes], "body", [*given, carried], made)

    trips = numpy_helper.from_array(np.array(2**40, np.int64), "n")
    loop = body([call("Identity", ["v"], ["w"]), call("Identity", ["v"], ["k"])], ["c_", "w", "k"])
    keep("Loop of 2^40 trips", [call("Loop", ["n", "", "x"], ["z", "y"], body=loop)], [trips], rank=3)
    forty = numpy_helper.from_array(np.array(40, np.int64), "n")
    doubled = body([call("Concat", ["v", "v"], ["w"], axis=0)], ["c_", "w"])
    keep("Loop that doubles forty times", [call("Loop", ["n", "", "x"], ["y"], body=doubled)], [forty])
    keep("Resize to many gigabytes", [call("Resize", ["x", "", "", "s"], ["y"])], [numbers("s", 60_000, 90_000)])
    sizes = [call("Mul", ["s", "s"], ["t"]), call("Expand", ["x", "t"], ["y"])]
    keep("Expand to sizes that a run computes", sizes, [numbers("s", 70_000, 1)])
    element = helper.make_tensor_value_info("e", TensorProto.FLOAT, [3])
    scanned = helper.make_graph(
        [call("Relu", ["e"], ["f"])], "body", [element], [helper.make_tensor_value_info("f", TensorProto.FLOAT, [3])]
    )
    rows = [call("Expand", ["x", "s"], ["t"]), call("Scan", ["t"], ["y"], body=scanned, num_scan_inputs=1)]
    keep("Scan of 2^33 rows", rows, [numbers("s", 2**33, 3)])
    for bits in (26, 28):
        # Held by a component, and in each of its answers.
        keep(f"Expand to 3 times 2^{bits} elements", [call("Expand", ["x", "s"], ["y"])], [numbers("s", 2**bits, 3)])
    huge = onnx.load_model_from_string(MINIMAL)
    for side, value in zip((2**20, 2**20), (huge.graph.input[0], huge.graph.output[0]), strict=True):
        del value.type.tensor_type.shape.dim[:]
        for _ in range(2):
            value.type.tensor_type.shape.dim.add().dim_value = side
    found["an input of 2^40 elements"] = huge.SerializeToString()
    grid = [call("Expand", ["x", "s"], ["t"]), call("ReduceSum", ["t"], ["y"], keepdims=1)]
    keep("a sum of 3 times 2^28 elements", grid, [numbers("s", 2**28, 3)])


def as_bytes(data: bytes) -> str:
    """What ``irfuzz.mutate`` makes of it."""
    import irfuzz

    next(irfuzz.mutate(data, seed=1), None)
    return "mutated"


def as_file(data: bytes) -> str:
    """What reading a seed makes of it, with onnx's checker in its worker."""
    from irfuzz.frontends.onnx_file import load_seed

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.onnx")
        path.write_bytes(data)
        load_seed(path, checker=checker())
    return "loaded"


@functools.cache
def checker() -> Any:
    """The checker of onnx, as long as the process lives."""
    from irfuzz.frontends.isolated_onnx_calls import OnnxChecker

    return contextlib.ExitStack().enter_context(OnnxChecker())


WAYS: dict[str, Callable[[bytes], str]] = {"bytes": as_bytes, "file": as_file}


def serve(end: Connection) -> None:
    """A process that answers what each call came to, until it is told to stop or a call ends it."""
    from irfuzz.errors import InternalError, IrfuzzError

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    checker()
    as_bytes(MINIMAL)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MOST_BYTES, size + MOST_BYTES))
    while (asked := end.recv()) is not None:
        function, *given = asked
        try:
            answer = function(*given)
        except InternalError as error:
            answer = f"BAD InternalError: {error}"
        except IrfuzzError as error:
            lines = str(error).count("\n") + 1
            answer = "error" if lines == 1 else f"BAD an error of {lines} lines: {error}"
        except BaseException as error:  # noqa: BLE001 - what is no error of irfuzz's own is what is looked for
            answer = f"BAD {_told(error)}"
        end.send(answer)


def _told(error: BaseException) -> str:
    trace, place = error.__traceback__, ""
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        place = f"{Path(name).name}:{trace.tb_lineno}" if "irfuzz" in name else place
        trace = trace.tb_next
    return f"{type(error).__name__} at {place}: {str(error)[:100]}"


class Server:
    """A process that serves, begun anew whenever a model has ended it."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._end, other = multiprocessing.get_context("spawn").Pipe()
        self._process = multiprocessing.get_context("spawn").Process(target=serve, args=(other,))
        self._process.start()
        other.close()

    def ask(self, function: Callable[..., str], *given: Any) -> str:
        """What a function of a module answers in the process, or how it ended."""
        try:
            self._end.send((function, *given))
            # The first answer of a process waits for its imports.
            if self._end.poll(MOST_SECONDS + (30 if self._fresh() else 0)):
                return str(self._end.recv())
            answer = f"BAD no answer within {MOST_SECONDS} s"
        except (EOFError, ConnectionError):
            answer = "BAD the process died"
        self.close()
        self._start()
        return answer

    def _fresh(self) -> bool:
        fresh = not getattr(self._process, "asked", False)
        self._process.asked = True  # type: ignore[attr-defined]
        return fresh

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self._end.close()


MINIMAL = helper.make_model(
    helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
    ),
    opset_imports=[helper.make_opsetid("", 17)],
).SerializeToString()


def cases(models: Sequence[bytes], count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """The hostile models and so many damaged ones, each with a name."""
    yield from hostile().items()
    for number in range(count):
        rng = random.Random(f"{seed}/{number}")
        damage = rng.choice((damaged_bytes, damaged_fields, damaged_fields))
        yield f"{damage.__name__} {number}", damage(rng.choice(models), rng)


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, help="models to damage; the shipped seeds where none is named")
    parser.add_argument("--count", type=int, default=2000, help="damaged models, besides the hostile ones")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="keep the first three models of each kind of badness there")
    given = parser.parse_args()
    from irfuzz.shipped_folders import seeds_dir

    files = given.models or sorted(seeds_dir().glob("*.onnx"))
    models = [data for path in files if len(data := path.read_bytes()) <= LARGEST]
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    slowest = dict.fromkeys(WAYS, 0.0)
    server, began = Server(), time.monotonic()
    try:
        for name, data in cases(models, given.count, given.seed):
            for way, function in WAYS.items():
                asked = time.monotonic()
                answer = server.ask(function, data)
                slowest[way] = max(slowest[way], time.monotonic() - asked)
                counts[way, answer] += 1
                if answer.startswith("BAD"):
                    print(f"{way:6}{name}: {answer}", flush=True)
                    if given.keep and counts[way, answer] <= 3:
                        given.keep.mkdir(parents=True, exist_ok=True)
                        (given.keep / f"{name} {way}.onnx".replace(" ", "_")).write_bytes(data)
    finally:
        server.close()
    bad = sum(n for (_, answer), n in counts.items() if answer.startswith("BAD"))
    for (way, answer), n in sorted(counts.items()):
        print(f"{n:6} {way:6} {answer}")
    print(f"{time.monotonic() - began:.0f} s; slowest {slowest}; {bad} bad")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
