"""Runs components under test in worker processes, which may crash, hang or eat memory without harming irfuzz."""

from __future__ import annotations

from irfuzz.isolate.transport import Tagged
from irfuzz.isolate.worker import Worker
from irfuzz.isolate.worker_pool import WorkerPool
from irfuzz.isolate.worker_types import ExitKind, Limits, Reply, StartError, Value, WorkerSpec

__all__ = ["ExitKind", "Limits", "Reply", "StartError", "Tagged", "Value", "Worker", "WorkerPool", "WorkerSpec"]
