"""``irfuzz ops`` shows what irfuzz knows of an operator."""

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
  irfuzz ops --domain ai.onnx.ml
  irfuzz ops com.microsoft.FusedMatMul
  irfuzz ops Conv --json"""


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "op",
        metavar="OP",
        nargs="?",
        help="An operator as ONNX spells it, behind its domain if that is not ONNX's own. Default: list them all.",
    )
    add("--domain", metavar="NAME", help="List the operators of this domain only.")
    add("--opset", metavar="N", type=whole(1), help="Version of the operator's domain. Default: 17, or its newest.")
    add("--json", action="store_true", help="Print JSON.")


def run(args: argparse.Namespace) -> int:
    from irfuzz.spec import load_specs, split_name

    specs = load_specs()
    if args.op is None:
        domains = specs.domains if args.domain is None else (_domain(specs, args.domain),)
        if args.opset is not None:
            domains = domains if args.domain is not None else ("",)
            _check_opset(specs, args.opset, domains[0])
        _list([spec for domain in domains for spec in _at(specs, args.opset, domain)], args.json)
        return 0
    domain, op = split_name(args.op)
    if args.domain is not None and domain:
        raise UsageError(f"--domain: {args.op!r} names a domain already")
    domain = _domain(specs, args.domain if args.domain is not None else domain, args.op)
    _check_opset(specs, args.opset, domain)
    opset = args.opset or _usual(specs, domain)
    spec = specs.get(op, opset, domain)
    if spec is None:
        known = {s.name: s for d in specs.domains for s in _at(specs, None if d != domain else opset, d)}
        near = [name for name, s in known.items() if s.op == op]
        near = near or difflib.get_close_matches(args.op, [n for n, s in known.items() if s.domain == domain], 3)
        hint = f"; did you mean {' or '.join(near)}?" if near else "; `irfuzz ops` lists them"
        of = f" of domain {domain}" if domain else ""
        raise UsageError(f"{args.op!r} is not an operator of opset {opset}{of}{hint}")
    data = _describe(spec)
    if args.json:
        print(json.dumps(data, default=str))
        return 0
    _print(data)
    return 0


def _domain(specs: Specs, domain: str, where: str = "--domain") -> str:
    """A domain that has operators."""
    from irfuzz.spec import plain_domain

    if plain_domain(domain) not in specs.domains:
        known = ", ".join(d or "ai.onnx" for d in specs.domains)
        raise UsageError(f"{where}: {domain!r} is no domain with known operators; expected one of {known}")
    return plain_domain(domain)


def _check_opset(specs: Specs, opset: int | None, domain: str) -> None:
    newest = specs.newest(domain)
    if opset is not None and opset > newest:
        what = "onnx defines" if not domain else f"is known of {domain}"
        raise UsageError(f"--opset: expected at most {newest}, which is the newest that {what}, got {opset}")


def _usual(specs: Specs, domain: str) -> int:
    return specs.newest(domain) if domain else 17


def _list(found: list[OpSpec], as_json: bool) -> None:
    if as_json:
        print(json.dumps([{"op": s.name, "since": s.since, "overlay": s.has_overlay} for s in found]))
        return
    for spec in found:
        print(f"{spec.name:<28} since {spec.since:<4} {'overlay' if spec.has_overlay else 'schema only'}")
    print(f"{len(found)} operators, {sum(s.has_overlay for s in found)} with an overlay")


def _at(specs: Specs, opset: int | None, domain: str) -> list[OpSpec]:
    """Every operator of a domain in the version that applies at an opset."""
    opset = opset or _usual(specs, domain)
    names = sorted({s.op for s in specs.all(domain)})
    found = [specs.get(name, opset, domain) for name in names]
    return [s for s in found if s is not None and not s.deprecated]


def _describe(spec: OpSpec) -> dict[str, Any]:
    overlay = spec.overlay
    data: dict[str, Any] = {
        "op": spec.name,
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
    from irfuzz.spec import plain_domain
    from irfuzz.spec.operator_signatures import onnx_schemas
    from irfuzz.spec.operator_traits import RUNTIME

    print(f"{data['op']}, version {data['since']}")
    for kind in ("inputs", "outputs"):
        print(f"{kind}:")
        for formal in data[kind]:
            option = "" if formal["option"] == "single" else f" ({formal['option']})"
            role = " [parameter]" if formal["name"] in data["parameters"] else ""
            print(f"  {formal['name']}: {formal['type']}{option}{role}")
    for name, dtypes in data["types"].items():
        print(f"  {name} in {', '.join(dtypes)}")
    if data["portable"]:
        # What nobody has measured is what the operator's file states.
        measured = plain_domain(data["domain"]) in (*onnx_schemas(), RUNTIME)
        print("runs on ONNXRuntime's CPU provider with:" if measured else "calls are drawn with:")
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
