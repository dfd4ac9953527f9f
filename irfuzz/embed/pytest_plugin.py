"""pytest's plug-in: a fixture and a marker that run a differential campaign on a test's converter.

Nothing of irfuzz is imported before a test asks for the fixture.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MARKER = "irfuzz(seeds, operators, budget, programs, edits, seed, tolerance, targets, reduce): options of the fixture irfuzz_differential"  # noqa: E501
FOLDER = "irfuzz_folder"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the setting ``irfuzz_folder``: the folder in which findings are stored, ``.irfuzz`` by default."""
    parser.addini(FOLDER, "folder for what irfuzz_differential finds, relative to rootdir", default=".irfuzz")


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker ``irfuzz`` known, so that ``--strict-markers`` takes it."""
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def irfuzz_differential(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Call it with ``convert(onnx.ModelProto) -> callable(dict of arrays)``; it fails with what irfuzz finds.

    Keywords, which may also stand in ``@pytest.mark.irfuzz``: ``seeds`` (models to mutate), ``operators`` (without
    seeds: what to call), ``budget`` ("20s", "2m" or seconds), ``programs`` (instead of a budget: how many), ``edits``,
    ``seed``, ``tolerance``, ``targets`` (the witnesses), ``reduce`` (seconds for making a finding small).
    """
    __tracebackhide__ = True
    node = request.node
    folder = Path(request.config.rootpath, str(request.config.getini(FOLDER)), folder_name(node.nodeid))
    marked: dict[str, Any] = {}
    for mark in reversed(list(node.iter_markers("irfuzz"))):
        if mark.args:
            raise pytest.UsageError(f"{node.nodeid}: pytest.mark.irfuzz takes keywords only, got {mark.args!r}")
        marked.update(mark.kwargs)

    def differential(convert: Callable[..., Any], **options: Any) -> None:
        __tracebackhide__ = True
        from irfuzz.embed.converter_campaign import ConverterFault, look_for_fault
        from irfuzz.errors import UsageError

        try:
            found = look_for_fault(convert, folder, options_of({**marked, **options}))
        except UsageError as error:
            pytest.fail(f"irfuzz: {error}", pytrace=False)
        if isinstance(found, ConverterFault):
            again = f"python -m pytest {node.nodeid!r}" if "'" not in node.nodeid else "the same test"
            lines = (found.text(), f"replay: {again} (stored findings run first; delete the folder to forget this one)")
            pytest.fail("irfuzz: " + "\n".join(lines), pytrace=False)
        if not found.replayed and not found.compared:
            asked = f"{found.made} programs, {found.unsupported} not supported by it"
            pytest.fail(f"irfuzz: the converter ran none of {asked}; name what it has: operators=[...]", pytrace=False)

    return differential


def options_of(given: dict[str, Any]) -> Any:
    """The keywords as ``ConverterOptions``.

    Args:
        given: keywords of the marker ``irfuzz``; ``budget`` and ``reduce`` are durations (``seconds_of``). If
            ``programs`` is given without ``budget`` there is no time limit.

    Raises:
        UsageError: one is unknown, or not what it should be.
    """
    from irfuzz.embed.converter_campaign import ConverterOptions
    from irfuzz.errors import UsageError

    known = {"seeds", "operators", "budget", "programs", "edits", "seed", "tolerance", "targets", "reduce"}
    unknown = sorted(set(given) - known)
    if unknown:
        raise UsageError(f"unknown option {', '.join(unknown)}; known: {', '.join(sorted(known))}")
    for name, least in (("programs", 1), ("edits", 0), ("seed", 0)):
        value = given.get(name, least)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise UsageError(f"{name}: expected an integer of at least {least}, got {value!r}")
    rest = {name: value for name, value in given.items() if name not in ("budget", "reduce")}
    if "budget" in given:
        rest["seconds"] = seconds_of("budget", given["budget"])
    elif "programs" in given:
        rest["seconds"] = None
    if "reduce" in given:
        rest["reduce"] = seconds_of("reduce", given["reduce"])
    return ConverterOptions(**rest)


def seconds_of(name: str, text: object) -> float:
    """A duration in seconds: a number, or ``"500ms"``, ``"20s"``, ``"2m"``, ``"1h"``.

    Args:
        name: of the option, for the message.
        text: what the user wrote; a number without a unit counts as seconds.

    Raises:
        UsageError: it is no duration, or a negative one.
    """
    from irfuzz.errors import UsageError

    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h)?", str(text).strip())
    if found is None:
        raise UsageError(f"{name}: expected a duration such as '20s' or '2m', got {text!r}")
    return float(found[1]) * {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, None: 1.0}[found[2]]


def folder_name(nodeid: str) -> str:
    """A test's own folder: readable, safe as a file name, and no other test's.

    Args:
        nodeid: of the test as pytest writes it, ``tests/test_x.py::test_y[a]``.

    Returns:
        Its last 80 characters, with dashes in place of all but letters and digits, and eight digits of its SHA-256.
    """
    slug = re.sub(r"[^A-Za-z0-9]+", "-", nodeid.replace(".py::", "-")).strip("-")[-80:]
    return f"{slug}-{hashlib.sha256(nodeid.encode()).hexdigest()[:8]}"
