"""Overlays enter, the element types that ONNXRuntime's CPU provider really runs are written into their ``[portable]`` tables.

Usage: ``python -m tests.spec.measure_portable [OP...]`` from the repository's root. For every operator version from
opset 7 on, every combination of element types is sampled and run without optimisation; a combination that never runs
is not portable.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import re
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.resources import ops_dir
from irfuzz.spec import OpSpec, Specs, load_specs, sample_call
from tests.spec.onenode import OrtWorker, model_of

NEWEST = 26
MARK = "# Measured (tests/spec/measure_portable.py): element types that onnxruntime {version}'s CPU provider runs."
TRIES = 6
_ORDER = {d: i for i, d in enumerate(ir.DataType)}


def name_of(dtype: ir.DataType) -> str:
    """As ONNX spells it in ``tensor(float)``."""
    return dtype.name.lower()


def starts(rank_seed: int) -> list[tuple[int, ...]]:
    """Shapes to start a sample from: one that most operators take, then others."""
    shapes = [(1, 4, 6, 6), (2, 3, 4), (2, 6), (4,), (), (1, 4, 8), (2, 4, 1, 3, 2)]
    return shapes[rank_seed % len(shapes) :] + shapes[: rank_seed % len(shapes)]


def combinations(spec: OpSpec) -> tuple[list[str], list[tuple[ir.DataType, ...]]]:
    """Type variables of the operator's inputs and of attributes that choose a type, and all their combinations."""
    present = [i.type_str for i in spec.inputs]
    chosen = [a.domain.dtype_of for a in spec.attrs.values() if a.domain and a.domain.dtype_of]
    variables = [v for v in spec.type_vars if v in present or v in chosen]
    return variables, list(itertools.product(*(sorted(spec.type_vars[v], key=_ORDER.__getitem__) for v in variables)))


def runs(worker: OrtWorker, spec: OpSpec, variables: Sequence[str], types: Sequence[ir.DataType], opset: int) -> bool:
    """Some sample with these element types loads and runs."""
    forced = dataclasses.replace(spec, portable={v: (t,) for v, t in zip(variables, types, strict=True)}, portable_except=())
    key = zlib.crc32(f"{spec.op} {types}".encode())
    tried = 0
    for seed in range(24):
        choices = Choices.from_seed(f"{key} {seed}")
        dtype = types[variables.index(spec.inputs[0].type_str)] if spec.inputs[0].type_str in variables else next(iter(spec.inputs[0].dtypes))
        shape = starts(seed // 3)[0]
        given = {0: TensorFact(dtype, shape)} if spec.inputs and seed % 4 else {}
        call = sample_call(forced, given, choices)
        if call is None:
            continue
        tried += 1
        model = model_of(spec, call, opset, np.random.default_rng(seed))
        answer = worker.run(model.SerializeToString())
        if answer["stage"] == "done":
            return True
        if tried >= TRIES or "NOT_IMPLEMENTED" in answer.get("error", "") and tried >= 2:
            break
    return False


def measure(worker: OrtWorker, specs: Specs, spec: OpSpec) -> tuple[dict[str, list[str]], list[dict[str, str]]]:
    """Element types of each type variable that run in some combination, and combinations of them that do not."""
    versions = [v for v in specs.versions(spec.op) if v > spec.since]
    opset = min(max(spec.since, 7) if not versions else max(7, min(versions[0] - 1, 17 if spec.since <= 17 else 99)), NEWEST)
    opset = max(opset, spec.since)
    variables, combos = combinations(spec)
    good = [c for c in combos if runs(worker, spec, variables, c, opset)]
    types = {
        v: [name_of(d) for d in sorted({c[i] for c in good}, key=_ORDER.__getitem__)] for i, v in enumerate(variables)
    }
    square = itertools.product(*(sorted({c[i] for c in good}, key=_ORDER.__getitem__) for i in range(len(variables))))
    bad = [dict(zip(variables, map(name_of, c), strict=True)) for c in square if c not in good] if good else []
    return types, bad


def toml_of(results: dict[int, tuple[dict[str, list[str]], list[dict[str, str]]]], version: str) -> str:
    """The ``[portable]`` table as text."""
    lines = [MARK.format(version=version), "[portable]"]
    for since, (types, bad) in sorted(results.items()):
        parts = [f"{v} = [" + ", ".join(f'"{n}"' for n in names) + "]" for v, names in types.items()]
        if bad:
            parts.append("except = [" + ", ".join("{ " + ", ".join(f'{v} = "{n}"' for v, n in b.items()) + " }" for b in bad) + "]")
        lines.append(f"{since} = {{ " + ", ".join(parts) + " }" if parts else f"{since} = {{}}")
    return "\n".join(lines) + "\n"


def write(path: Path, table: str) -> None:
    """Replace the ``[portable]`` table at the end of a file."""
    text = path.read_text(encoding="utf-8")
    text = re.split(r"\n+# Measured \(tests/spec/measure_portable\.py\)", text)[0].rstrip()
    path.write_text(f"{text}\n\n{table}", encoding="utf-8")


def main() -> None:
    """Measure the named operators, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ops", nargs="*")
    arguments = parser.parse_args()
    import importlib.metadata

    version = importlib.metadata.version("onnxruntime")
    specs = load_specs()
    with OrtWorker() as worker:
        for path in sorted(ops_dir().glob("*.toml")):
            if arguments.ops and path.stem not in arguments.ops:
                continue
            results = {}
            for since in specs.versions(path.stem):
                following = [v for v in specs.versions(path.stem) if v > since]
                if since > NEWEST or (following and following[0] <= 7):
                    continue
                spec = specs.version(path.stem, since)
                if spec.has_overlay and not spec.deprecated:
                    results[since] = measure(worker, specs, spec)
            write(path, toml_of(results, version))
            print(path.stem, {s: {v: len(n) for v, n in t.items()} | ({"except": len(b)} if b else {}) for s, (t, b) in results.items()}, flush=True)


if __name__ == "__main__":
    main()
