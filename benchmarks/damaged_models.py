"""What irfuzz makes of damaged models, as bytes and as files: an answer or one clear error, within limits.

Damages models of a folder by a seed: bytes turned, cut, repeated or removed; fields of the message set to extreme
numbers, to other words, repeated, removed or moved; and those of ``hostile_models``, which are hostile on purpose
(functions that call themselves or double forty times, an opset of 2^62, sizes of many gigabytes behind a few bytes).
Each is given to ``irfuzz.mutate`` as bytes and to ``irfuzz.frontends.onnx_file.load_seed`` as a file, in processes with
a limit of memory and of processor time (a busy machine is no fault of irfuzz's). Good is a mutant, an empty stream, or
an error of irfuzz's own; bad is any other exception, a death, or a limit that was reached.

Run ``python benchmarks/damaged_models.py [--count 2000] [--seed 0] [--jobs 1] [--keep FOLDER] [MODEL ...]``. Exit code
1 if anything is bad; ``--keep`` keeps the first models of each kind of badness.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import itertools
import multiprocessing
import os
import queue
import random
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import Message

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.hostile_models import all_models, outside
from benchmarks.hostile_sizes import MINIMAL
from irfuzz.isolate import linux

MOST_SECONDS = 10
"""Of processor time, for one model."""

LONGEST = 180
"""Seconds that pass, on a machine however busy: what takes no processor time waits for something."""

MOST_BYTES = 1 << 30
BATCH = 1000
"""Questions that are made ahead."""

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


def as_bytes(data: bytes) -> str:
    """What ``irfuzz.mutate`` makes of it."""
    import irfuzz

    next(irfuzz.mutate(data, seed=1), None)
    return "mutated"


def as_file(data: bytes) -> str:
    """What reading a seed makes of it, with onnx's checker in its worker."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.onnx")
        path.write_bytes(data)
        return read(path)


def read(path: Path) -> str:
    """What reading a file as a seed makes of it."""
    from irfuzz.frontends.onnx_file import load_seed

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


def _processor_seconds(pid: int) -> float:
    """Of a process and of those children that it has waited for; 0 if it is gone."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")


class Server:
    """A process that serves, begun anew whenever a model has ended it.

    Attributes:
        most: seconds of processor time that one answer took, the first ones of processes left out.
    """

    def __init__(self) -> None:
        self.most = 0.0
        self._start()

    def _start(self) -> None:
        self._end, other = multiprocessing.get_context("spawn").Pipe()
        self._process = multiprocessing.get_context("spawn").Process(target=serve, args=(other,))
        self._process.start()
        other.close()
        self._asked = False

    def ask(self, function: Callable[..., str], *given: Any) -> str:
        """What a function of a module answers in the process, or how it ended."""
        try:
            self._end.send((function, *given))
            # The first answer of a process waits for its imports.
            began, used = time.monotonic(), self._used() if self._asked else 0.0
            allowed = MOST_SECONDS + (0 if self._asked else MOST_SECONDS)
            self._asked = True
            while not self._end.poll(1):
                if self._used() - used > allowed or time.monotonic() - began > LONGEST:
                    break
            else:
                answer = str(self._end.recv())
                self.most = max(self.most, self._used() - used if used else 0.0)
                return answer
            answer = f"BAD no answer within {self._used() - used:.0f} s, {time.monotonic() - began:.0f} s passed"
        except (EOFError, ConnectionError):
            answer = "BAD the process died"
        self.close()
        self._start()
        return answer

    def _used(self) -> float:
        """Seconds of processor time that the process and all that it started have taken."""
        pid = self._process.pid or 0
        return sum(map(_processor_seconds, [pid, *linux.descendants(pid)]))

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self._end.close()


def cases(models: Sequence[bytes], count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """The hostile models and so many damaged ones, each with a name."""
    yield from all_models().items()
    for number in range(count):
        rng = random.Random(f"{seed}/{number}")
        damage = rng.choice((damaged_bytes, damaged_fields, damaged_fields))
        yield f"{damage.__name__} {number}", damage(rng.choice(models), rng)


def all_cases(models: Sequence[bytes], given: argparse.Namespace, folder: Path) -> Iterator[tuple[str, str, Any]]:
    """Name, way and model of each question that is asked."""
    for name, data in cases(models, given.count, given.seed):
        for way in WAYS:
            yield name, way, data
    for name, path in outside(folder):
        yield name, "outside", path


def _asked(free: queue.SimpleQueue[Server], case: tuple[str, str, Any]) -> tuple[str, str, Any, str]:
    """A question, and what a server that had nothing to do answers."""
    name, way, model = case
    server = free.get()
    try:
        return name, way, model, server.ask(WAYS.get(way, read), model)
    finally:
        free.put(server)


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path, help="models to damage; the shipped seeds where none is named")
    parser.add_argument("--count", type=int, default=2000, help="damaged models, besides the hostile ones")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes that are asked at a time")
    parser.add_argument("--keep", type=Path, help="keep the first three models of each kind of badness there")
    given = parser.parse_args()
    from irfuzz.shipped_folders import seeds_dir

    files = given.models or sorted(seeds_dir().glob("*.onnx"))
    models = [data for path in files if len(data := path.read_bytes()) <= LARGEST]
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    servers, began = [Server() for _ in range(given.jobs)], time.monotonic()
    free = queue.SimpleQueue[Server]()
    for server in servers:
        free.put(server)
    try:
        with tempfile.TemporaryDirectory() as place, ThreadPool(given.jobs) as pool:
            asked = all_cases(models, given, Path(place))
            while batch := list(itertools.islice(asked, BATCH)):
                for name, way, model, answer in pool.imap(functools.partial(_asked, free), batch):
                    counts[way, answer] += 1
                    if answer.startswith("BAD"):
                        print(f"{way:6} {name}: {answer}", flush=True)
                        if given.keep and counts[way, answer] <= 3 and isinstance(model, bytes):
                            given.keep.mkdir(parents=True, exist_ok=True)
                            (given.keep / f"{name} {way}.onnx".replace(" ", "_")).write_bytes(model)
                print(f"{counts.total()} asked, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    finally:
        for server in servers:
            server.close()
    bad = sum(n for (_, answer), n in counts.items() if answer.startswith("BAD"))
    for (way, answer), n in sorted(counts.items()):
        print(f"{n:6} {way:6} {answer}")
    most = max(server.most for server in servers)
    print(f"{time.monotonic() - began:.0f} s; at most {most:.1f} s of processor time for one; {bad} bad")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
