"""``irfuzz env``: environments for other versions of components are built, listed and removed."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from irfuzz.cli.parser import Parser, place
from irfuzz.errors import UsageError

NAME = "env"
ABOUT = """Build environments for other versions of a component, list and remove them.

add builds one with pip, tries it in a worker and lets it count only then; list says what there is; remove deletes one.
They are kept in $IRFUZZ_HOME/environments; without that variable in $XDG_DATA_HOME/irfuzz or ~/.local/share/irfuzz."""
EXAMPLES = """examples:
  irfuzz env add onnxruntime==1.29.0
  irfuzz env add ncnn                                      # a recipe: all that the target needs, one word
  irfuzz env add onnxruntime==1.18.1 --with numpy==1.26.4
  irfuzz env add onnx==1.22.0 --python /usr/bin/python3.11
  irfuzz env add keras==2.2.4 --python 3.7 --with tensorflow==1.15.5
  irfuzz env add onnxruntime==1.24.4 --wheels ~/wheels     # without a network
  irfuzz env list --json
  irfuzz env remove onnxruntime-1.29.0

then: irfuzz fuzz seeds --targets 'reference,torch:eager,ort@1.29.0:all,ort:all'"""

ACTIONS = ("add", "list", "remove")


def arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("action", metavar="ACTION", choices=ACTIONS, help="add, list or remove.")
    add(
        "what", metavar="WHAT", nargs="?",
        help="What to add: one exact version (onnx==1.22.0), the file of a wheel, or a recipe (ncnn, "
        "openvino-provider, tinygrad, tvm, webgpu). What to remove: a name.",
    )  # fmt: skip
    add(
        "--with", metavar="REQUIREMENT", action="append", default=[], dest="others",
        help="Something else that pip is to install, such as numpy==1.26.4; may be repeated.",
    )  # fmt: skip
    add(
        "--python", metavar="PATH", default=sys.executable,
        help="Interpreter to build with, 3.7 or newer: its path, or a version (3.7) that is looked for on the path and "
        "among pyenv's. Default: irfuzz's own.",
    )  # fmt: skip
    add("--name", metavar="NAME", default="", help="What to call it. Default: PACKAGE-VERSION.")
    add("--wheels", metavar="DIR", type=place, help="Take packages from this folder alone, and from no index.")
    add("--json", action="store_true", help="Print JSON.")


def run(args: argparse.Namespace) -> int:
    if args.action != "list" and args.what is None:
        example = "onnxruntime==1.29.0" if args.action == "add" else "onnxruntime-1.29.0"
        raise UsageError(f"env {args.action}: expected what to {args.action}, such as {example}")
    if args.action != "add" and (args.others or args.name or args.wheels):
        raise UsageError(f"env {args.action}: --with, --name and --wheels belong to env add")
    if args.action == "list" and args.what is not None:
        raise UsageError(f"env list: expected nothing more, got {args.what!r}")
    return {"add": _add, "list": _list, "remove": _remove}[args.action](args)


def _add(args: argparse.Namespace) -> int:
    from irfuzz.execute.target_table import label_of
    from irfuzz.execute.versions import installation
    from irfuzz.execute.versions.recipes import RECIPES

    wish = installation.read_wish(args.what)
    if (recipe := RECIPES.get(args.what.strip())) and not args.quiet:
        wants = f"; it wants {recipe.wants}, which no package brings" if recipe.wants else ""
        size = f"{recipe.download} MB to download, {recipe.disk} MB on the disk"
        print(f"irfuzz: {recipe.about}: {size}{wants}", file=sys.stderr, flush=True)
    found, built = installation.add(
        wish, others=args.others, python=args.python, name=args.name, source=installation.PackageSource(args.wheels),
        say=lambda text: print(f"irfuzz: {text}", file=sys.stderr, flush=True),
    )  # fmt: skip
    if args.json:
        print(json.dumps({**asdict(found), "built": built}))
        return 0
    print(
        f"{found.name}: {found.distribution} {found.version}, Python {found.python}, numpy {found.numpy}, "
        f"{'built' if built else 'was there already'}"
    )
    use = f"use it as --targets {found.component}@{label_of(found)}" if found.component else "no target runs it yet"
    print(f"  {found.interpreter}\n  {use}")
    return 0


def _list(args: argparse.Namespace) -> int:
    from irfuzz.execute.versions import environments

    found = environments.installed()
    if args.json:
        print(json.dumps([asdict(e) for e in found]))
        return 0
    for e in found:
        takes = f"up to opset {e.opset}, IR {e.ir}" if e.opset else ""
        print(f"{e.name:<28} Python {e.python:<8} numpy {e.numpy:<8} {takes}".rstrip())
    if not found:
        print(f"none in {environments.folder()}; build one with `irfuzz env add onnxruntime==1.29.0`")
    return 0


def _remove(args: argparse.Namespace) -> int:
    from irfuzz.execute.versions import installation

    installation.remove(args.what)
    if args.json:
        print(json.dumps({"removed": args.what}))
    else:
        print(f"removed {args.what}")
    return 0
