"""Records which lines of given Python packages or files a process runs for the first time.

Loaded in the worker's interpreter after the fork: needs only Python 3.7. Python 3.12 has ``sys.monitoring``, which
looks at each line once; before it a function is traced until all of its lines have run, what is called over and over
in one request only now and then.
"""

from __future__ import annotations

import dis
import importlib.util
import os
import sys
import threading
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import TypeAlias  # of Python 3.10

Found: TypeAlias = "dict[str, dict[str, list[int]]]"
"""For each name, by path below its folder, the lines."""


ALL, SOME = 32, 32
"""Of the calls of a function between two looks at what is new, so many are traced, then one in so many."""


class _Function:
    """A function's code (held, so that no other has its identity), its lines that have not run, and what notes them."""

    __slots__ = ("calls", "code", "left", "look", "trace")

    def __init__(self, code: CodeType, left: set[int], trace: Any) -> None:
        self.code, self.left, self.trace = code, left, trace
        self.calls = self.look = 0


class LineTracer:
    """Watches code by its place.

    Args:
        watched: names of packages and modules, and absolute paths of folders and files; what is not there is left out.
    """

    def __init__(self, watched: list[str]) -> None:
        self._roots = [(name, root) for name in watched for root in [_root_of(name)] if root]
        self._places: dict[str, tuple[str, str] | None] = {}
        self._functions: dict[int, _Function] = {}
        self._look = 0
        self._found: list[tuple[tuple[str, str], int]] = []

    def start(self) -> None:
        """Watch from now on, in every thread that runs Python code.

        Before Python 3.12 these are this thread and those that ``threading`` starts later.
        """
        monitoring: Any = getattr(sys, "monitoring", None)
        if monitoring is not None:
            self._monitor(monitoring)
        else:
            threading.settrace(self._called)
            sys.settrace(self._called)

    def fresh(self) -> Found:
        """Lines that ran for the first time since the last call, by name and file (``Found``).

        Those of each file are in the order in which they ran; empty if there are none.
        """
        found, self._found = self._found, []
        self._look += 1
        told: Found = {}
        for (name, file), line in found:
            told.setdefault(name, {}).setdefault(file, []).append(line)
        return told

    def _place(self, file: str) -> tuple[str, str] | None:
        """Which name a file belongs to, and its path below it."""
        if file not in self._places:
            whole = os.path.abspath(file)  # noqa: PTH100 - "<string>" is no path
            self._places[file] = None
            for name, root in self._roots:
                if whole == root:
                    self._places[file] = name, os.path.basename(whole)  # noqa: PTH119
                elif whole.startswith(root + os.sep):
                    self._places[file] = name, os.path.relpath(whole, root)
                else:
                    continue
                break
        return self._places[file]

    def _monitor(self, monitoring: Any) -> None:
        tool = next(n for n in (monitoring.COVERAGE_ID, 3, 4, monitoring.PROFILER_ID) if not monitoring.get_tool(n))
        off = monitoring.DISABLE

        def ran(code: CodeType, line: int) -> Any:
            place = self._place(code.co_filename)
            if place is not None:
                self._found.append((place, line))
            return off

        monitoring.use_tool_id(tool, "irfuzz")
        monitoring.register_callback(tool, monitoring.events.LINE, ran)
        monitoring.set_events(tool, monitoring.events.LINE)

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:  # noqa: ARG002 - of the protocol
        code = frame.f_code
        known = self._functions.get(id(code))
        if known is None:
            known = self._functions[id(code)] = self._function(code)
        if not known.left:
            return None
        if known.look != self._look:
            known.look, known.calls = self._look, 0
        known.calls += 1
        return known.trace if known.calls <= ALL or not known.calls % SOME else None

    def _function(self, code: CodeType) -> _Function:
        place = self._place(code.co_filename)
        if place is None:
            return _Function(code, set(), None)
        lines = {line for _, line in dis.findlinestarts(code) if line}
        left = lines - {code.co_firstlineno} or lines  # a function's first line never runs, but for a function of one
        found = self._found_in(place)

        def trace(frame: FrameType, event: str, argument: Any) -> Any:
            line = frame.f_lineno
            if event == "line" and line in left:
                left.discard(line)
                found(line)
            return trace

        return _Function(code, left, trace)

    def _found_in(self, place: tuple[str, str]) -> Any:
        return lambda line: self._found.append((place, line))


class TracedHandler:
    """A handler that answers as another does, with ``lines`` (``Found``) besides."""

    def __init__(self, handler: Any, watched: list[str]) -> None:
        self._handler = handler
        self._lines = LineTracer(watched)
        self._lines.start()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handler, name)

    def handle(self, request: dict[str, Any], values: list[Any]) -> Any:
        answer = self._handler.handle(request, values)
        if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[0], dict):
            found = self._lines.fresh()
            return ({**answer[0], "lines": found} if found else answer[0]), answer[1]
        return answer


def _root_of(name: str) -> str:
    """Where a package's folder or a module's file is; empty if nowhere."""
    if os.path.isabs(name):  # noqa: PTH117
        return os.path.realpath(name)
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return ""
    if spec is None:
        return ""
    folders = list(spec.submodule_search_locations or ())
    return os.path.abspath(folders[0] if folders else spec.origin or "")  # noqa: PTH100
