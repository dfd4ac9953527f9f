"""Which operators a change is about, by the names in it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from irfuzz.api.project.changed_operators import changed_operators, operators_in_diff
from irfuzz.errors import UsageError

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('+    "MaxPool": max_pool,', ("MaxPool",)),
        ("-    if node.op_type == 'Gemm' and x:", ("Gemm",)),
        (" unchanged Conv", ()),
        ("+def convert_max_pool(node):", ("MaxPool",)),
        ("+class ReduceMeanConverter:", ("ReduceMean",)),
        ("@@ -1,2 +3,4 @@ def _softmax(x, axis):", ("Softmax",)),
        ("+++ b/converter/ops/layer_normalization.py", ("LayerNormalization",)),
        ("--- a/converter/Relu.py", ()),
        ("+    if x and not y or sum(z) where max:", ()),
        ("+    # Softmax of the last axis", ()),
        ("+    y = x  // 2, as Relu does", ()),
        ("+#include <x> // MaxPool", ()),
        ('+    """Where x is a scalar, Add it."""', ()),
        ('+    "Or": either, ops.Where: where,', ("Or", "Where")),
        ("+    Not = 'Not'", ("Not",)),
        ("+    r = \"#\" + 'Add'", ("Add",)),
        ("+def conv_and_add(x): return Convolution", ("Add", "And", "Conv")),
    ],
)
def test_names_in_a_diff(line: str, found: tuple[str, ...]) -> None:
    assert operators_in_diff(line) == found


def test_changes_of_a_repository_that_are_not_committed_count(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    with pytest.raises(UsageError, match=r"changed-since: HEAD: git knows no changes since it: "):
        changed_operators(tmp_path, "HEAD")
    git("init", "-q")
    (tmp_path / "a.py").write_text("def relu(x):\n    y = x\n    return y\n")
    git("add", ".")
    git("commit", "-qm", "first")
    assert changed_operators(tmp_path, "HEAD") == ()
    (tmp_path / "a.py").write_text("def relu(x):\n    y = x\n    return -y\n")
    assert changed_operators(tmp_path, "HEAD") == ("Relu",)
    (tmp_path / "a.py").write_text("def relu(x):\n    y = x\n    return y\n")
    for name in ("docs/README.md", "irfuzz-baseline.json", "irfuzz.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("Softmax\n")
    git("add", ".")
    assert changed_operators(tmp_path, "HEAD") == (), "text, and what irfuzz itself writes"
    with pytest.raises(UsageError, match=r"changed-since: --output=x: git knows no changes since it"):
        changed_operators(tmp_path, "--output=x")
    assert not (tmp_path / "x").exists()
