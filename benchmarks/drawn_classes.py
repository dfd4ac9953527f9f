"""Which classes of calls the rules allow and drawn programs never show.

Programs are made as campaigns make them (``benchmarks/drawn_bugs.py``), and nothing is run. A class is an operator with
an element type, a rank or no elements at an input, an optional input given or left out, an attribute left out or with
one of its listed values or kinds of numbers. What ``ops/`` allows and nobody draws is what no campaign finds.

Run ``python -m benchmarks.drawn_classes [-n 20000] [--seed 1] [--sprouts 0.4] [--ops Conv,Pad] [--kind rank]``; the
classes that never occur are printed, by operator, and a summary by kind.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import onnx_ir as ir

from benchmarks.drawn_bugs import constant, fact, programs
from irfuzz.campaign.config import usual_sprouts
from irfuzz.spec import OpSpec, Specs, load_specs

Class: TypeAlias = tuple[str, str, str]
"""Operator, kind, and what of the kind: ``("Pad", "attr mode", "edge")``."""

KINDS = ("opset", "dtype", "rank", "empty", "given", "attr", "value", "special")

TARGETS = 4
"""So many targets make programs that grow from one node as usual as they are by default."""

NEWEST = 26
"""Opset up to which operators are asked for."""

RANKS = range(6)


def number_class(value: Any) -> str:
    """A number or a list of them as what makes a difference."""
    items = [float(v) for v in value] if isinstance(value, list | tuple) else [float(value)]
    if not items:
        return "empty"
    least = min(items)
    sign = "negative" if least < 0 else "zero" if not any(items) else "positive"
    return f"{sign}, uneven" if len(set(items)) > 1 else sign


def shown(node: ir.Node, spec: OpSpec, inputs: Mapping[str, Any]) -> Iterator[Class]:
    """The classes of a call."""
    op = spec.op
    yield op, "opset", str(spec.since)
    for position, formal in enumerate(spec.inputs):
        value = node.inputs[position] if position < len(node.inputs) else None
        if formal.option == "optional":
            yield op, f"given {formal.name}", str(value is not None)
        found = fact(value)
        if found is None:
            continue
        yield op, f"dtype {formal.name}", found.dtype.name
        if found.shape is not None:
            yield op, f"rank {formal.name}", str(len(found.shape))
            if 0 in found.shape:
                yield op, f"empty {formal.name}", "empty"
        held = constant(node, position)
        if held is None and value is not None:
            held = inputs.get(value.name or "")
        if isinstance(held, np.ndarray) and held.size and held.dtype.kind == "f" and not np.isfinite(held).all():
            yield op, f"special {formal.name}", "nan" if np.isnan(held).any() else "infinite"
        elif held is not None and formal.name in _exact(spec) and getattr(held, "dtype", np.dtype("O")).kind in "if":
            yield op, f"value {formal.name}", number_class(np.ravel(held).tolist())
    for name, attr in spec.attrs.items():
        given = node.attributes.get(name)
        if given is None:
            if not attr.required:
                yield op, f"attr {name}", "omitted"
        elif (listed := _listed(spec, name)) is not None:
            text = given.value.decode() if isinstance(given.value, bytes) else given.value
            if text in listed:
                yield op, f"attr {name}", str(text)
        elif attr.type in ("INT", "FLOAT", "INTS", "FLOATS"):
            yield op, f"attr {name}", number_class(given.value)


def allowed(specs: Specs) -> Iterator[Class]:
    """The classes that can be named beforehand; whether a rule forbids one of them, ``ops/`` tells."""
    for op in sorted({spec.op for opset in range(9, NEWEST + 1) for spec in specs.overlaid(opset)}):
        versions = {id(s): s for o in range(9, NEWEST + 1) if (s := specs.get(op, o)) is not None and s.is_sampled}
        for spec in versions.values():
            yield op, "opset", str(spec.since)
        spec = list(versions.values())[-1]
        for formal in spec.inputs:
            patterns = spec.overlay.patterns.get(formal.name, ()) if spec.overlay is not None else ()
            runs = spec.portable.get(formal.type_str, tuple(formal.dtypes))
            yield from ((op, f"dtype {formal.name}", d.name) for d in runs)
            ranks = [r for r in RANKS if not patterns or any(p.fits(r) for _, p in patterns)]
            yield from ((op, f"rank {formal.name}", str(r)) for r in ranks)
            if ranks != [0]:
                yield op, f"empty {formal.name}", "empty"
            if formal.option == "optional":
                yield from ((op, f"given {formal.name}", str(given)) for given in (True, False))
            if any(d.is_floating_point() for d in runs) and formal.name not in _exact(spec):
                yield from ((op, f"special {formal.name}", kind) for kind in ("nan", "infinite"))
        for name, attr in spec.attrs.items():
            if not attr.required:
                yield op, f"attr {name}", "omitted"
            yield from ((op, f"attr {name}", str(item)) for item in _listed(spec, name) or ())


def _exact(spec: OpSpec) -> set[str]:
    return {name for name, domain in spec.overlay.values.items() if domain.exact} if spec.overlay is not None else set()


def _listed(spec: OpSpec, name: str) -> tuple[Any, ...] | None:
    domain = spec.attrs[name].domain
    return None if domain is None else domain.one_of


def count(amount: int, seed: int, share: float, max_opset: int) -> tuple[Counter[Class], int]:
    """In how many nodes each class is shown, and how many programs there are."""
    specs, held, made = load_specs(), Counter[Class](), 0
    for program, inputs in programs(amount, seed, share, max_opset=max_opset):
        made += 1
        for node in program.nodes():
            spec = specs.get(node.op_type, program.opset, node.domain)
            if spec is not None and spec.has_overlay and not spec.domain:
                held.update(shown(node, spec, inputs))
    return held, made


def table(held: Mapping[Class, int], classes: Iterable[Class], kinds: tuple[str, ...]) -> str:
    """What is missing, by operator, and how much of each kind there is."""
    wanted = [c for c in dict.fromkeys(classes) if c[1].partition(" ")[0] in kinds]
    lines: list[str] = []
    for op in dict.fromkeys(c[0] for c in wanted):
        missing: dict[str, list[str]] = {}
        for _, kind, what in (c for c in wanted if c[0] == op and not held.get(c)):
            missing.setdefault(kind, []).append(what)
        if missing:
            lines.append(f"{op}: " + "; ".join(f"{kind}: {' '.join(whats)}" for kind, whats in missing.items()))
    for kind in kinds:
        asked = [c for c in wanted if c[1].partition(" ")[0] == kind]
        if asked:
            lines.append(f"{kind:8} {sum(not held.get(c) for c in asked):5} of {len(asked):5} never drawn")
    return "\n".join(lines)


def main() -> int:
    """Entry point."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("-n", type=int, default=20000, help="programs")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--sprouts", type=float, default=usual_sprouts(TARGETS), help="share that grows from a node")
    arguments.add_argument("--max-opset", type=int, default=NEWEST)
    arguments.add_argument("--ops", default="", help="comma-separated; all if omitted")
    arguments.add_argument("--kind", default=",".join(KINDS), help="comma-separated")
    given = arguments.parse_args()
    held, made = count(given.n, given.seed, given.sprouts, given.max_opset)
    ops = {op for op in given.ops.split(",") if op}
    classes = [c for c in allowed(load_specs()) if not ops or c[0] in ops]
    print(table(held, classes, tuple(given.kind.split(","))))
    print(f"{made} programs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
