"""``python -m irfuzz``: the same as the ``irfuzz`` script."""

from __future__ import annotations

import sys

from irfuzz.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
