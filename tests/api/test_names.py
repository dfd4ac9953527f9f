"""Public names: what ``import irfuzz`` offers, whatever else was imported before."""

from __future__ import annotations

import inspect
import pickle
import pydoc
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import irfuzz
from irfuzz import errors

PACKAGE = Path(irfuzz.__file__).parent
FUNCTIONS = sorted(name for name in irfuzz.__all__ if inspect.isfunction(getattr(irfuzz, name)))
MODULES = {"analyze": "unsafe_conditions", "generate": "topologies", "mutate": "mutation_engine", "reduce": "session"}
"""A module of each folder that has the name of a public function."""

FOLDERS = sorted({name for name in FUNCTIONS if (PACKAGE / name / "__init__.py").exists()})


def run(code: str) -> None:
    """Run some code in a new process."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r})\n{code}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.unit
def test_these_functions_have_the_name_of_a_folder() -> None:
    assert {"generate", "mutate"} <= {*FOLDERS} <= {*MODULES}


@pytest.mark.unit
@pytest.mark.parametrize("name", FOLDERS)
def test_a_function_keeps_its_name_in_every_order_of_imports(name: str) -> None:
    module = f"irfuzz.{name}.{MODULES[name]}"
    folder = [
        f"import {module}\nassert inspect.ismodule({module})",
        f"import {module} as module\nassert inspect.ismodule(module)",
        f"assert inspect.ismodule(importlib.import_module('irfuzz.{name}'))",
    ]
    function = f"from irfuzz import {name}\nassert inspect.isfunction({name})"
    after = f"import {module}\nassert inspect.isfunction(irfuzz.{name})\nassert inspect.ismodule({module})"
    orders = [
        f"def order():\n{textwrap.indent(chr(10).join([*order, after]), '    ')}\norder()"
        for first in folder
        for order in ((first, function), (function, first))
    ]
    again = "for name in [n for n in sys.modules if n.split('.')[0] == 'irfuzz']: del sys.modules[name]"
    run("import importlib, inspect\n" + f"\n{again}\n".join(orders))


@pytest.mark.unit
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_shows_its_parameters_and_says_what_it_does(name: str) -> None:
    function = getattr(irfuzz, name)
    parameters = inspect.signature(function).parameters.values()
    assert all(p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) for p in parameters)
    assert all(p.annotation is not p.empty for p in parameters)
    text = pydoc.plain(pydoc.render_doc(function))
    assert f"{name}(" in text.splitlines()[2]
    assert all(f"{p.name}: " in (function.__doc__ or "") for p in parameters), "each parameter is explained"
    assert pickle.loads(pickle.dumps(function)) is function


@pytest.mark.unit
def test_a_public_name_can_be_replaced_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests of other people do so."""
    before = irfuzz.mutate
    with monkeypatch.context() as patched:
        patched.setattr("irfuzz.mutate", len)
        assert irfuzz.mutate is len
    assert irfuzz.mutate is before


@pytest.mark.unit
def test_every_public_name_is_there_and_no_other_is_promised() -> None:
    assert sorted(irfuzz.__all__) == irfuzz.__all__
    assert {*irfuzz.__all__} <= {*dir(irfuzz)}
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = irfuzz.nonsense  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.unit
def test_a_type_checker_finds_each_name_in_the_module_that_it_is_imported_from() -> None:
    code = (PACKAGE / "__init__.py").read_text()
    told = re.findall(r"^    from (\S+) import (\w+) as \2$", code, re.MULTILINE)
    assert {name: home for home, name in told} == irfuzz._LAZY
    assert {*irfuzz._LAZY, "__version__"} == {n for n in irfuzz.__all__ if n not in vars(errors)}
