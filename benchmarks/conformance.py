"""How many of ONNX's own cases pass in modules exported to PyTorch and TensorFlow, and which do not.

Run ``python -m benchmarks.conformance [--write] [--framework torch]`` from the repository's root: about a minute. The
exit code is 1 where a case is wrong, or too few pass. ``--write`` makes the tables of docs/conformance.md anew.
"""

from __future__ import annotations

import argparse
import sys
import warnings

from tests.export import frameworks
from tests.export.cases import outcomes_of
from tests.export.conformance_table import DOCUMENT, LEAST, document, figures, share


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--framework", choices=frameworks.NAMES, action="append")
    parser.add_argument("--write", action="store_true", help=f"write {DOCUMENT.name}; needs all frameworks")
    a = parser.parse_args()
    warnings.simplefilter("ignore")
    found = {name: outcomes_of(name) for name in a.framework or frameworks.NAMES}
    print("\n".join(figures(found)))
    every = {name: [o for outcomes in kinds.values() for o in outcomes] for name, kinds in found.items()}
    wrong = [f"{name}: {o.name}: {o.wrong}" for name, outcomes in every.items() for o in outcomes if o.wrong]
    print("\n".join(wrong))
    if a.write and len(found) == len(frameworks.NAMES):
        DOCUMENT.write_text(document(found, DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
    return int(bool(wrong) or any(share(outcomes) < LEAST[name] for name, outcomes in every.items()))


if __name__ == "__main__":
    sys.exit(main())
