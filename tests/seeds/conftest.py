"""The scripts that build seeds are no part of the package: they are imported from the checkout."""

from __future__ import annotations

import sys
from pathlib import Path

# At the end: irfuzz itself is the one that is installed.
sys.path.append(str(Path(__file__).parents[2]))
