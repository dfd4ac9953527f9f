"""Runs components under test in worker processes, which may crash, hang or eat memory without harming irfuzz."""

from __future__ import annotations

from irfuzz.isolate.pool import Pool
from irfuzz.isolate.transport import Tagged
from irfuzz.isolate.types import ExitKind, Limits, Reply, StartError, Value, WorkerSpec
from irfuzz.isolate.worker import Worker

__all__ = ["ExitKind", "Limits", "Pool", "Reply", "StartError", "Tagged", "Value", "Worker", "WorkerSpec"]
