"""What the workers of frameworks that run generated modules share.

Runs in the worker's interpreter: imports only the standard library.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Mapping
from types import CodeType
from typing import TYPE_CHECKING, Any

from .runs import Answer, Course, Failure, attempt, each, first_line, stack

if TYPE_CHECKING:
    from typing import TypeAlias  # of Python 3.10

BFLOAT16 = 16
"""Its number among ONNX's element types."""
MAX_CODE = 4096

_CODE: dict[str, CodeType] = {}
"""Compiled top-level definitions by their text: modules share most of their support functions."""

Mode: TypeAlias = "Callable[[dict[str, Any], dict[str, Any], dict[str, Any], Course, str], dict[str, Any]]"
"""Computes outputs by name.

Of a module's names, its weights and inputs as arrays, the course of the run and the rest of the mode's name.
"""


def _anywhere(_module: dict[str, Any], _device: str) -> Any:
    return contextlib.nullcontext()


class Framework:
    """What runs generated modules.

    Attributes:
        name: of the file of its other ways to run a module (``ways/``).
        modes: its own ways.
        declined: of an error and the stage, whether the framework says that it lacks something.
        bits: the bytes of a bfloat16 tensor, which numpy lacks, as an array; ``None`` for anything else.
        memory: what it raises if memory ran out, beside ``MemoryError``.
        placed: of a module and a device (empty for the processor): a context in which the module computes there.
    """

    def __init__(
        self,
        name: str,
        modes: Mapping[str, Mode],
        declined: Callable[[BaseException, str], bool],
        bits: Callable[[Any], Any],
        memory: tuple[type[BaseException], ...] = (),
        placed: Callable[[dict[str, Any], str], Any] = _anywhere,
    ) -> None:
        self.name = name
        self.modes = modes
        self.declined = declined
        self.bits = bits
        self.memory = memory
        self.placed = placed

    def answer(self, request: dict[str, Any], arrays: list[Any]) -> Answer:
        """Run a module.

        ``request`` holds ``source``, ``arrays`` (names of the first values), ``inputs`` (``{"name"}`` of the rest) and
        ``variants`` (``mode``, a key of ``modes`` and perhaps more after a space, or ``way``, one of the ways; and
        ``device``, if that is not the processor). The values of the outputs follow one another in the order in which
        the module gives them.
        """
        count = len(request["arrays"])
        weights = dict(zip(request["arrays"], arrays[:count]))  # noqa: B905 - Python 3.9
        inputs = dict(zip((about["name"] for about in request["inputs"]), arrays[count:]))  # noqa: B905

        def run(place: int, options: dict[str, Any]) -> Answer:
            mode, _, more = options.get("mode", "eager").partition(" ")
            course = Course(place, "compile" if mode == "eager" else "import")

            def compute() -> Answer:
                module, given = load(request["source"]), (bits_of(weights), bits_of(inputs))
                with self.placed(module, options.get("device", "")):
                    if options.get("way"):
                        course.at("run")
                        outputs = self._ways().run(options["way"], module, *module["tensors"](*given))
                    else:
                        outputs = self.modes[mode](module, *given, course, more)
                    return self._carried(outputs, module["to_array"])

            return attempt(course, compute, self._failed)

        return each(request["variants"], run)

    def _ways(self) -> Any:
        """Other ways to run the same, in a file that findings take along."""
        return importlib.import_module(f".ways.{self.name}", __package__)

    def _carried(self, outputs: dict[str, Any], to_array: Callable[[Any], Any]) -> Answer:
        about: list[dict[str, Any]] = []
        values: list[Any] = []
        for name, value in outputs.items():
            raw = self.bits(value)
            about.append({"name": name} if raw is None else {"name": name, "raw": BFLOAT16, "shape": list(value.shape)})
            values.append(to_array(value) if raw is None else raw)
        return {"outputs": about}, values

    def _failed(self, error: Exception, stage: str) -> Failure:
        if isinstance(error, self.memory) or str(error).startswith("RESOURCE_EXHAUSTED"):  # XLA, of a device's memory
            return Failure("memory", f"{type(error).__name__}: {error}")
        return Failure("unsupported" if self.declined(error, stage) else "rejected", first_line(error), stack())


def load(source: str) -> dict[str, Any]:
    """The names that a generated module defines; its definitions are two blank lines apart and compiled one by one."""
    names: dict[str, Any] = {"__name__": "generated", "__source__": source}
    for text in source.split("\n\n\n"):
        code = _CODE.get(text)
        if code is None:
            if len(_CODE) >= MAX_CODE:
                _CODE.clear()
            code = _CODE[text] = compile(text, "<generated>", "exec")
        exec(code, names)  # noqa: S102 - running generated source is what this worker is for
    return names


def bits_of(values: dict[str, Any]) -> dict[str, Any]:
    """Values as a module takes them: bit patterns if the transport tagged them."""
    return {name: getattr(value, "raw", value) for name, value in values.items()}
