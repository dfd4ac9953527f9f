"""Converts a model by the program pnnx and runs it on ncnn's layers for processors.

ncnn has no names of a model's own and keeps batches apart from the other axes: pnnx writes a script that feeds the
network, from which is read how.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import ncnn
import numpy as np
import onnx

FED = re.compile(r'ex\.input\("(in\d+)", ncnn\.Mat\(in(\d+)\.numpy\(\), batch_index=(\d+)\)')
"""Where the script feeds the network: the blob, the number of the input, the axis that is the batch (233: none)."""

READ = re.compile(r'out(\d+) = ex\.extract\("(\w+)"\)\n.*?numpy\(batch_index=(\d+)\)')
"""Where it reads an output: the number of the output, the blob, the axis of the batch."""

SAYS_GAP = re.compile(r"(?i:not supported|unsupported|not implemented)|^(todo|ignore|fallback) ", re.MULTILINE)
"""What pnnx prints of an operator, or a form of one, that it passes on as it is or does without."""

NO_LAYER = re.compile(r"layer (\S+) not exists or registered")
"""What ncnn prints when it is given an operator that it has no layer for."""


class Refused(Exception):
    """What pnnx or ncnn prints when it stops."""


def version() -> str:
    """The version of ncnn, followed by that of pnnx.

    Raises:
        ModuleNotFoundError: there is no pnnx.
    """
    _program()
    return f"{importlib.metadata.version('ncnn')}+pnnx{importlib.metadata.version('pnnx')}"


def load(model: bytes) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Convert into files and read those; if a size of an input is open, as soon as it is known."""
    graph = onnx.load_model_from_string(model).graph
    held = {tensor.name for tensor in graph.initializer}
    names = [value.name for value in graph.input if value.name not in held]
    sizes = {value.name: value.type.tensor_type.shape.dim for value in graph.input}
    settled = all(dim.HasField("dim_value") for name in names for dim in sizes[name])
    network = Network(model, []) if settled else None

    def run(inputs: dict[str, Any]) -> dict[str, Any]:
        given = [inputs[name] for name in names]
        found = (network or Network(model, given)).run(given)
        return {value.name: array for value, array in zip(graph.output, found)}  # noqa: B905 - Python 3.9

    return run


class Network:
    """A model as ncnn has it.

    Attributes:
        fed: of each blob that is fed the number of the input and the axis of its batch.
        read: of each output its blob and the axis of its batch.
    """

    def __init__(self, model: bytes, given: list[Any]) -> None:
        shapes = [f"[{','.join(map(str, array.shape))}]f32" for array in given]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "model.onnx").write_bytes(model)
            self.said = _pnnx(folder, ["model.onnx", "fp16=0", *([f"inputshape={','.join(shapes)}"] if shapes else [])])
            script = folder / "model_ncnn.py"
            if not script.exists():
                raise _refused(self.said, "pnnx made no network")
            text = script.read_text()
            self.fed = {blob: (int(number), int(axis)) for blob, number, axis in FED.findall(text)}
            self.read = [(blob, int(axis)) for _, blob, axis in READ.findall(text)]
            self._net = self._loaded(folder)

    def _loaded(self, folder: Path) -> Any:
        """The network; single-threaded and in single precision throughout."""
        net = ncnn.Net()
        net.opt.num_threads = 1
        net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
        files = folder / "model.ncnn.param", folder / "model.ncnn.bin"
        with _printed() as told:
            codes = [net.load_param(str(files[0]))]
            if codes == [0]:
                codes.append(net.load_model(str(files[1])))
        if any(codes):
            lacking = NO_LAYER.search(told[0])
            if lacking is not None:
                raise NotImplementedError(f"ncnn has no layer {lacking[1]}")
            raise _refused(self.said + told[0], "ncnn does not read what pnnx made")
        return net

    def run(self, given: list[Any]) -> list[Any]:
        """What it computes, in the order of the model's outputs.

        Args:
            given: its inputs, in their order.

        Raises:
            Refused: a layer fails.
        """
        if SAYS_GAP.search(self.said):
            raise _refused(self.said, "")
        found = []
        with _printed() as told, self._net.create_extractor() as extractor:
            for blob, (number, axis) in self.fed.items():
                array = np.ascontiguousarray(given[number])
                extractor.input(blob, ncnn.Mat(array, batch_index=axis).clone())
            for blob, axis in self.read:
                code, value = extractor.extract(blob)
                if code:
                    break
                found.append(np.array(value.numpy(batch_index=axis)))
        if len(found) != len(self.read):
            raise _refused(told[0], f"ncnn gives out no {self.read[len(found)][0]}")
        return found


def _program() -> str:
    """The path of pnnx, a file of its package, which imports torch and so is not imported."""
    found = importlib.util.find_spec("pnnx")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("No module named 'pnnx'")
    return str(Path(found.origin).parent / "pnnx")


def _pnnx(folder: Path, arguments: list[str]) -> str:
    """What pnnx prints in a folder; if it dies by a signal this process does, too, for that is what happened."""
    command = [_program(), *arguments]
    ended = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    text = re.sub(r"\x1b\[[\d;]*m", "", ended.stdout.decode(errors="replace"))
    if ended.returncode < 0:
        os.write(2, f"pnnx died: {_last(text)}\n".encode())
        os.kill(os.getpid(), -ended.returncode)
    if ended.returncode:
        raise _refused(text, f"pnnx ends with {ended.returncode}")
    return text


def _refused(text: str, what: str) -> Exception:
    """The error for what was printed: a gap if it says so."""
    gaps = [line.strip() for line in text.splitlines() if SAYS_GAP.search(line)]
    if gaps:
        return NotImplementedError(f"pnnx says: {'; '.join(dict.fromkeys(gaps))}"[:400])
    return Refused(f"{what}: {_last(text)}")


def _last(text: str) -> str:
    """The last lines that say something."""
    return "; ".join(list(_telling(text))[-3:])[:400] or "it said nothing"


def _telling(text: str) -> Iterator[str]:
    for line in map(str.strip, text.splitlines()):
        if line and not re.match(r"#|[│┌├└]|\w+ = |model inputshape|FLOPS|memory OPS", line):
            yield line


@contextlib.contextmanager
def _printed() -> Generator[list[str], None, None]:
    """What C++ prints to descriptor 2 in the meantime, as a list of one text at the end; the log gets it, too."""
    told: list[str] = []
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield told
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            told.append(file.read().decode(errors="replace"))
            os.write(2, told[0].encode())
