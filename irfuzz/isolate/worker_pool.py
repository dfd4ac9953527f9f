"""Workers by name, one for each specification, started side by side and ended together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Self

from irfuzz.errors import UsageError
from irfuzz.isolate.worker import Worker
from irfuzz.isolate.worker_spec_and_reply import Limits, WorkerSpec


class WorkerPool:
    """Workers by name, for one thread."""

    __slots__ = ("_workers",)

    def __init__(self, specs: Iterable[WorkerSpec], limits: Limits | None = None) -> None:
        """Nothing is started yet.

        Raises:
            UsageError: two specifications have the same name.
        """
        self._workers: dict[str, Worker] = {}
        for spec in specs:
            if spec.name in self._workers:
                raise UsageError(f"two workers are called {spec.name}")
            self._workers[spec.name] = Worker(spec, limits)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getitem__(self, name: str) -> Worker:
        return self._workers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._workers)

    def __len__(self) -> int:
        return len(self._workers)

    def start(self) -> None:
        """Let all of them import at the same time; the first call to each waits for it.

        Raises:
            StartError: an interpreter or a handler file cannot be run; none is left running then.
        """
        try:
            for worker in self._workers.values():
                worker.start()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End all of them and reap their processes; may be called twice."""
        for worker in self._workers.values():
            worker.close()
