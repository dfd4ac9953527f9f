"""The few kinds of error that irfuzz raises, split by whose fault they are."""

from __future__ import annotations


class IrfuzzError(Exception):
    """Base of everything irfuzz raises on purpose; the command line prints it on one line."""


class UsageError(IrfuzzError):
    """The caller's words are wrong: a flag, a path, a count. Exit code 2."""


class InvalidProgram(IrfuzzError):
    """A model cannot be taken in, or breaks a rule of ONNX. Exit code 2.

    Its message is one line, whatever names are in it.
    """

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.splitlines()))


class SpecError(IrfuzzError):
    """A file under ``ops/`` is wrong, or contradicts ONNX's own schema. Exit code 2."""


class Unsupported(IrfuzzError):
    """A component cannot express an operator exactly, and says so instead of approximating."""

    def __init__(self, component: str, op: str, why: str) -> None:
        super().__init__(f"{component} does not support {op}: {why}")
        self.component = component
        self.op = op
        self.why = why


class NoOperator(Unsupported):
    """A component does not know an operator of a domain that is not ONNX's."""

    def __init__(self, component: str, op: str) -> None:
        super().__init__(component, op, "it has no such operator")
        self.args = (f"{component} has no {op}",)


class InternalError(IrfuzzError):
    """irfuzz broke one of its own invariants. Exit code 3."""
