"""``irfuzz ops``: an operator's name enters, what irfuzz knows of it leaves."""

from __future__ import annotations

import argparse
import difflib
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from irfuzz.cli.parser import Parser, whole
from irfuzz.errors import UsageError

if TYPE_CHECKING:
    import onnx_ir as ir

    from irfuzz.spec import OpSpec, Specs

NAME = "ops"
ABOUT = "Show the specification of an operator, or list the operators."
EXAMPLES = """examples:
  irfuzz ops
  irfuzz ops Conv --opset 13
  irfuzz ops Conv --json"""


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("op", metavar="OP", nargs="?", help="An operator as ONNX spells it. Default: list them all.")
    add("--opset", metavar="N", type=whole(1), default=17, help="Version of the default domain. Default: 17.")
    add("--json", action="store_true", help="Print JSON.")


def run(args: argparse.Namespace) -> int:
    import onnx.defs

    from irfuzz.spec import load_specs

    newest = onnx.defs.onnx_opset_version()
    if args.opset > newest:
        raise UsageError(f"--opset: expected at most {newest}, which is the newest that onnx defines, got {args.opset}")
    specs = load_specs()
    if args.op is None:
        _list(specs, args.opset, args.json)
        return 0
    spec = specs.get(args.op, args.opset)
    if spec is None:
        known = [s.op for s in _at(specs, args.opset)]
        near = difflib.get_close_matches(args.op, known, 3)
        hint = f"; did you mean {' or '.join(near)}?" if near else "; `irfuzz ops` lists them"
        raise UsageError(f"{args.op!r} is not an operator of opset {args.opset}{hint}")
    data = _describe(spec)
    if args.json:
        print(json.dumps(data, default=str))
        return 0
    _print(data)
    return 0


def _list(specs: Specs, opset: int, as_json: bool) -> None:
    rows = [{"op": s.op, "since": s.since, "overlay": s.has_overlay} for s in _at(specs, opset)]
    if as_json:
        print(json.dumps(rows))
        return
    for row in rows:
        print(f"{row['op']:<28} since {row['since']:<4} {'overlay' if row['overlay'] else 'schema only'}")
    print(f"{len(rows)} operators at opset {opset}, {sum(bool(r['overlay']) for r in rows)} with an overlay")


def _at(specs: Specs, opset: int) -> list[OpSpec]:
    """Every operator of the default domain in the version that applies at an opset."""
    names = sorted({s.op for s in specs.all() if not s.domain})
    found = [specs.get(name, opset) for name in names]
    return [s for s in found if s is not None and not s.deprecated]


def _describe(spec: OpSpec) -> dict[str, Any]:
    overlay = spec.overlay
    data: dict[str, Any] = {
        "op": spec.op,
        "domain": spec.domain or "ai.onnx",
        "since": spec.since,
        "inputs": [{"name": f.name, "option": f.option, "type": f.type_str} for f in spec.inputs],
        "outputs": [{"name": f.name, "option": f.option, "type": f.type_str} for f in spec.outputs],
        "types": {name: _dtypes(dtypes) for name, dtypes in spec.type_vars.items()},
        "attributes": [
            {
                "name": a.name,
                "type": a.type,
                "required": a.required,
                "default": a.default,
                "invalid": list(a.invalid),
            }
            for a in spec.attrs.values()
        ],
        "parameters": list(spec.parameters),
        "portable": {name: _dtypes(dtypes) for name, dtypes in spec.portable.items()},
        "numerics": None if spec.numerics is None else spec.numerics.kind,
        "hazards": [] if spec.numerics is None else list(spec.numerics.hazards),
        "undefined": [{"name": u.name, "why": u.why} for u in spec.undefined],
        "overlay": None,
    }
    if overlay is not None:
        data["overlay"] = {
            "file": str(overlay.source),
            "doc": overlay.doc,
            "rules": [text for text, _ in overlay.rules],
        }
    return data


def _dtypes(dtypes: Iterable[ir.DataType]) -> list[str]:
    return sorted(d.name.lower() for d in dtypes)


def _print(data: dict[str, Any]) -> None:
    print(f"{data['domain']}::{data['op']}, version {data['since']}")
    for kind in ("inputs", "outputs"):
        print(f"{kind}:")
        for formal in data[kind]:
            option = "" if formal["option"] == "single" else f" ({formal['option']})"
            role = " [parameter]" if formal["name"] in data["parameters"] else ""
            print(f"  {formal['name']}: {formal['type']}{option}{role}")
    for name, dtypes in data["types"].items():
        print(f"  {name} in {', '.join(dtypes)}")
    if data["portable"]:
        print("runs on ONNXRuntime's CPU provider with:")
        for name, dtypes in data["portable"].items():
            print(f"  {name} in {', '.join(dtypes)}")
    print("attributes:")
    for attr in data["attributes"]:
        need = "required" if attr["required"] else f"default {attr['default']}"
        invalid = f", invalid: {attr['invalid']}" if attr["invalid"] else ""
        print(f"  {attr['name']}: {attr['type']}, {need}{invalid}")
    if data["overlay"] is None:
        print("no overlay: checked by ONNX's schema only, never inserted")
    else:
        print(f"rules ({data['overlay']['file']}):")
        for rule in data["overlay"]["rules"]:
            print(f"  {rule}")
        print(f"numerics: {data['numerics'] or 'unspecified'}{''.join(', ' + h for h in data['hazards'])}")
    for undefined in data["undefined"]:
        print(f"undefined: {undefined['name']}: {undefined['why']}")
