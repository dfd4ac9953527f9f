"""``irfuzz targets``: what can run programs here, and why the rest cannot."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from irfuzz.cli.parser import Parser, duration, names
from irfuzz.errors import UsageError

if TYPE_CHECKING:
    from irfuzz.campaign.targets.operator_support import OperatorSupport
    from irfuzz.execute.target_table import Availability

NAME = "targets"
ABOUT = """List the targets that are known, with versions, and why some cannot be used here.

Those with an @ are of environments that `irfuzz env add` built. --probe runs valid calls of operators on targets and
keeps, in support.json beside the environments, which operators and element types each was seen to run, and which it
says that it lacks; --json shows that. Campaigns add to it when they end. Probing again goes on where the last probe
ended. Classes of your own are known by version and by the file that holds them; --targets names those to show."""
EXAMPLES = """examples:
  irfuzz targets
  irfuzz targets --json
  irfuzz targets --probe 2m
  irfuzz targets --probe 1m --targets openvino,torch:eager --json
  irfuzz targets --probe 1m --targets converter.py:Converter --json"""


def arguments(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="Print JSON, one object a target.")
    parser.add_argument("--probe", metavar="TIME", type=duration, help="First find out for so long what they support.")
    parser.add_argument("--targets", metavar="NAMES", type=names, help="Those to probe. Default: all runtimes.")


def run(args: argparse.Namespace) -> int:
    from irfuzz.campaign.targets.operator_support import CLASS, OperatorSupport, probe
    from irfuzz.environment_check import check_environment
    from irfuzz.execute.target_table import Availability, describe, resolve
    from irfuzz.ir.serialization.fast_path_self_check import native_fault
    from irfuzz.isolate.sandbox_report import sandbox_line

    check_environment()
    native_fault()  # warns if programs are cloned and written the slow way
    support = OperatorSupport()
    if args.targets and not args.probe:
        raise UsageError("--targets: says which to probe; give --probe TIME too")
    if args.probe:
        programs = probe(resolve(args.targets, slow=True), support, args.probe, say=_say)
        _say(f"ran {programs} programs; what came of it is in {support.path}")
    known = describe()
    named = resolve(args.targets, slow=True) if args.targets else ()
    own = [Availability(target, "") for target in named if CLASS in target.options]
    rows = [_row(a, support) for a in (*known, *own)]
    _say(sandbox_line())
    if args.json:
        print(json.dumps(rows))
        return 0
    width = max(28, *(len(row["name"]) for row in rows))
    for row in rows:
        print(f"{row['name']:<{width}} {row['version'] or '-':<12} {row['why_not'] or 'ready'}")
    return 0


def _say(text: str) -> None:
    print(f"irfuzz: {text}", file=sys.stderr)


def _row(found: Availability, support: OperatorSupport) -> dict[str, Any]:
    """What is known without starting anything; the opset and IR limits of irfuzz's own environment are not."""
    from irfuzz.execute.target_table import stages_of

    target = found.target
    return {
        "name": target.name,
        "component": target.component,
        "version": target.version,
        "environment": target.environment or None,
        "interpreter": target.interpreter,
        "device": target.device,
        "options": dict(target.options),
        "opset": target.opset or None,
        "ir": target.ir or None,
        "role": target.role,
        "slow": target.slow,
        "stages": list(stages_of(target)),
        "seen": support.told(target),
        "usable": not found.why_not,
        "why_not": found.why_not,
    }
