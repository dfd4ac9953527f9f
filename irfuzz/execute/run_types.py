"""Targets and what running a program on one of them gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

import numpy as np

from irfuzz.errors import UsageError

Value: TypeAlias = "np.ndarray | list[Value] | None"
"""A tensor (strings as object arrays), a sequence as a list, an empty optional as ``None``.

A map is the list of its keys, sorted, and of its values; maps with the same keys are one, with a row of values each.
"""


def check_values(inputs: Mapping[str, Value]) -> None:
    """See that what is to be run on are values by name.

    Args:
        inputs: any object. Arrays are not looked into; lists are, item by item.

    Raises:
        UsageError: something else is among them.
    """
    if not isinstance(inputs, Mapping):
        raise UsageError(f"inputs: expected arrays by input name, got {type(inputs).__name__}")
    for name, value in inputs.items():
        if type(value) is not np.ndarray:
            _check_value(value, name)


def _check_value(value: object, name: str) -> None:
    if isinstance(value, list):
        for item in value:
            _check_value(item, name)
    elif value is not None and not isinstance(value, np.ndarray | np.generic):
        raise UsageError(f"input {name!r}: expected a numpy array, a list of them or None, got {type(value).__name__}")


class Stage(StrEnum):
    """How far a target gets with a program."""

    IMPORT = "import"
    CONVERT = "convert"
    COMPILE = "compile"
    RUN = "run"


class Exit(StrEnum):
    """How a run ended."""

    OK = "ok"
    REJECTED = "rejected"
    """The component raised an error of its own."""
    UNSUPPORTED = "unsupported"
    """The component says that it has no kernel or lowering for an operator: a gap, not a fault."""
    CRASH = "crash"
    """The process died by a signal."""
    EXITED = "exited"
    """The process ended itself with an exit code."""
    HANG = "hang"
    MEMORY = "memory"
    PROTOCOL = "protocol"
    """The worker answered rubbish or closed its pipe."""


class TargetRole(StrEnum):
    """What a target is of use for; only runtimes bear witness on their own."""

    RUNTIME = "runtime"
    CONVERTER = "converter"
    """Brings a program from one framework into another."""
    TOOL = "tool"
    """Makes another model of a model, which a runtime then runs."""


@dataclass(frozen=True, slots=True)
class Target:
    """One way to run a program.

    Attributes:
        name: unique, ``component[@version][:variant]``, as the user writes it in ``--targets``.
        component: which software computes the result; witnesses are independent when components differ.
        version: version of the component in its interpreter, filled in when the worker starts.
        interpreter: Python executable of the environment that holds the component.
        device: ``cpu``, ``cuda`` or ``tensorrt``.
        options: settings that travel with each request.
        environment: name of the environment that holds this version (``execute.environments``); empty for irfuzz's own.
        requirement: what pip needs to make that environment, the component first; empty for irfuzz's own.
        opset: newest version of ONNX's default domain that it takes, filled in when the worker starts; 0 if unknown.
        ir: newest ONNX IR version that it takes, likewise.
        role: runtime, converter or tool.
        before: of a converter or tool the target that computes the same without it, whose faults it cannot help to
            carry on; empty for a runtime.
        approximate: values differ on purpose, so that only types, shapes and ends are judged.
        slow: takes seconds for a program that others run in milliseconds; campaigns run it on a sample.
        kernels: what computes, if it is not what other variants of the component compute with (``inductor``,
            ``xla``): a kernel that is missing here then says nothing against those.
        process: tells apart the workers of one component whose environment variables differ (the back end of Keras).
        only_named: runs only if it is named, and is not among those that are used by default.
    """

    name: str
    component: str
    version: str = ""
    interpreter: str = ""
    device: str = "cpu"
    options: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    environment: str = ""
    requirement: str = ""
    opset: int = 0
    ir: int = 0
    role: TargetRole = TargetRole.RUNTIME
    before: str = ""
    approximate: bool = False
    slow: bool = False
    kernels: str = ""
    process: str = ""
    only_named: bool = False


@dataclass(frozen=True, slots=True)
class RunResult:
    """What one target did with one program and one set of inputs.

    Attributes:
        target: the target.
        stage: the stage at which it ended (``RUN`` if it went through).
        exit: how it ended.
        outputs: graph outputs by name; empty unless ``exit`` is ``OK``.
        error: first line of the component's own message, or the signal's name.
        log: whatever else was caught (traceback, standard error), shortened.
        seconds: wall time inside the worker.
        taps: inner values by their names in the program (``execute.intermediate_values``); empty unless they were
            asked for.
        lines: of Python code that ran in the worker's process for the first time, for any target of the request, by
            name of the package and path below its folder (``irfuzz.isolate.line_tracer``); empty unless counted.
        passes: of the component's optimiser that changed the program, if that was asked for.
        taps_faithful: the run that gave them gave the same outputs as the one without, to the bit.
    """

    target: Target
    stage: Stage
    exit: Exit
    outputs: Mapping[str, Value] = field(default_factory=dict)
    error: str = ""
    log: str = ""
    seconds: float = 0.0
    taps: Mapping[str, Value] = field(default_factory=dict)
    lines: Mapping[str, Mapping[str, Sequence[int]]] = field(default_factory=dict)
    passes: tuple[str, ...] = ()
    taps_faithful: bool = False
