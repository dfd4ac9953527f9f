"""Writes the element types that ONNXRuntime really runs into the ``[portable]`` tables of overlays.

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
from typing import Any

import numpy as np
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.shipped_folders import ops_dir
from irfuzz.spec import OpSpec, Specs, load_specs, sample_call
from tests.spec.onenode import OrtWorker, model_of

NEWEST = 26
MARK = "# Measured (tests/spec/measure_portable.py): element types that onnxruntime {version}'s CPU provider runs."
TRIES = 6
SHAPES = [(1, 4, 6, 6), (2, 3, 4), (2, 6), (4,), (), (1, 4, 8), (2, 4, 1, 3, 2)]
_ORDER = {d: i for i, d in enumerate(ir.DataType)}


def name_of(dtype: ir.DataType) -> str:
    """As ONNX spells it in ``tensor(float)``."""
    return dtype.name.lower()


def combinations(spec: OpSpec) -> tuple[list[str], list[tuple[ir.DataType, ...]]]:
    """Type variables of the operator's inputs and of attributes that choose a type, and all their combinations."""
    present = [i.type_str for i in spec.inputs]
    chosen = [a.domain.dtype_of for a in spec.attrs.values() if a.domain and a.domain.dtype_of]
    variables = [v for v in spec.type_vars if v in present or v in chosen]
    return variables, list(itertools.product(*(sorted(spec.type_vars[v], key=_ORDER.__getitem__) for v in variables)))


def runs(worker: OrtWorker, spec: OpSpec, variables: Sequence[str], types: Sequence[ir.DataType], opset: int) -> bool:
    """Samples with these element types load and run, all of ``TRIES``; those that only sometimes do are shown."""
    forced = dataclasses.replace(
        spec, portable={v: (t,) for v, t in zip(variables, types, strict=True)}, portable_except=()
    )
    key = zlib.crc32(f"{spec.op} {types}".encode())
    first = spec.inputs[0] if spec.inputs else None
    answers: list[dict[str, Any]] = []
    for seed in range(4 * TRIES):
        given: dict[int, TensorFact] = {}
        if first is not None and seed % 4:
            dtype = types[variables.index(first.type_str)] if first.type_str in variables else min(first.dtypes)
            given = {0: TensorFact(dtype, SHAPES[seed % len(SHAPES)])}
        call = sample_call(forced, given, Choices.from_seed(f"{key} {seed}"))
        if call is None:
            continue
        model = model_of(spec, call, opset, np.random.default_rng(seed))
        answers.append(
            worker.run(model.SerializeToString())
            | {"call": f"{call.attrs} {[p and (p.fact.dtype.name, p.fact.shape) for p in call.inputs]}"}
        )
        if len(answers) == TRIES or "NOT_IMPLEMENTED" in str(answers[0].get("error")):
            break
    failed = [a for a in answers if a["stage"] != "done"]
    if failed and len(failed) < len(answers):
        text = f"{spec.op}-{spec.since} {[t.name for t in types]}: {failed[0].get('error')} {failed[0]['call']}"
        print(f"  sometimes: {text[:400]}")
    return bool(answers) and not failed


def opsets_of(specs: Specs, spec: OpSpec) -> list[int]:
    """Opsets to measure at: the ends of the version's span and the usual ones in it.

    The span matters: a type may run by the operator's function body only, which ONNXRuntime takes for some opsets.
    """
    following = [v for v in specs.versions(spec.op) if v > spec.since]
    low, high = max(spec.since, 7), min(following[0] - 1 if following else NEWEST, NEWEST)
    return sorted({o for o in (low, 17, 18, high) if low <= o <= high})


def measure(worker: OrtWorker, specs: Specs, spec: OpSpec) -> tuple[dict[str, list[str]], list[dict[str, str]]]:
    """Element types of each type variable that run in some combination, and combinations of them that do not."""
    opsets = opsets_of(specs, spec)
    variables, combos = combinations(spec)
    good = [c for c in combos if all(runs(worker, spec, variables, c, opset) for opset in opsets)]
    types = {
        v: [name_of(d) for d in sorted({c[i] for c in good}, key=_ORDER.__getitem__)] for i, v in enumerate(variables)
    }
    square = list(
        itertools.product(*(sorted({c[i] for c in good}, key=_ORDER.__getitem__) for i in range(len(variables))))
    )
    square = [c for c in square if not excluded(spec, variables, c)]
    bad = [dict(zip(variables, map(name_of, c), strict=True)) for c in square if c not in good] if good else []
    return types, shortened(variables, [dict(zip(variables, map(name_of, c), strict=True)) for c in square], bad)


def excluded(spec: OpSpec, variables: Sequence[str], types: Sequence[ir.DataType]) -> bool:
    """True where a rule of the spec itself forbids a combination, so that the table need not name it."""
    named = dict(zip(variables, map(name_of, types), strict=True))
    env = {f"dtype:{f.name}": named[f.type_str] for f in spec.inputs if f.type_str in named}
    assert spec.overlay is not None
    return any(r.names and r.names <= set(env) and r.holds(env) is False for _, r in spec.overlay.rules)


def shortened(variables: Sequence[str], every: list[dict[str, str]], bad: list[dict[str, str]]) -> list[dict[str, str]]:
    """The same combinations with fewer words: a variable is left out where its type does not matter."""
    out: list[dict[str, str]] = []
    for size in range(1, len(variables) + 1):
        for names in itertools.combinations(variables, size):
            for combo in bad:
                part = {n: combo[n] for n in names}
                if part in out or any(o.items() <= combo.items() for o in out):
                    continue
                if all(c in bad for c in every if part.items() <= c.items()):
                    out.append(part)
    return out


def toml_of(results: dict[int, tuple[dict[str, list[str]], list[dict[str, str]]]], version: str) -> str:
    """The ``[portable]`` table as text."""
    lines = [MARK.format(version=version), "[portable]"]
    for since, (types, bad) in sorted(results.items()):
        parts = [f"{v} = [" + ", ".join(f'"{n}"' for n in names) + "]" for v, names in types.items()]
        if bad:
            parts.append(
                "except = ["
                + ", ".join("{ " + ", ".join(f'{v} = "{n}"' for v, n in b.items()) + " }" for b in bad)
                + "]"
            )
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
        for path in sorted((ops_dir() / "ai.onnx").glob("*.toml")):
            if arguments.ops and path.stem not in arguments.ops:
                continue
            results = {}
            for since in specs.versions(path.stem):
                following = [v for v in specs.versions(path.stem) if v > since]
                if since > NEWEST or (following and following[0] <= 7):
                    continue
                spec = specs.version(path.stem, since)
                if spec.is_sampled:
                    results[since] = measure(worker, specs, spec)
            if not results:
                continue  # of control flow no call is drawn
            write(path, toml_of(results, version))
            print(
                path.stem,
                {
                    s: {v: len(n) for v, n in t.items()} | ({"except": len(b)} if b else {})
                    for s, (t, b) in results.items()
                },
                flush=True,
            )


if __name__ == "__main__":
    main()
