"""What puts the end of a request off: processors that others have, and nothing of the child's own."""

from __future__ import annotations

import pytest

from irfuzz.isolate import linux
from irfuzz.isolate.request_deadline import RequestDeadline

pytestmark = pytest.mark.unit

NS = 10**9


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that the deadline sees, on a machine of two cores."""
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(linux, "is_ready", lambda _: False)
    return now


def after(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, seconds: float, looks: list[list[tuple[float, float]]]
) -> float:
    """What is left of ten seconds after looks at what each thread ran and waited, evenly over so many seconds."""
    deadline = RequestDeadline()
    deadline.begin(10.0)
    for look in looks:
        times = {task: (int(ran * NS), int(waited * NS)) for task, (ran, waited) in enumerate(look)}
        monkeypatch.setattr(linux, "processor_times", lambda _, times=times: times)
        deadline.look([1])
        clock[0] += seconds / len(looks)
    return deadline.left()


@pytest.mark.parametrize(
    ("looks", "left"),
    [
        ([[(0, 0)], [(0, 0)]], -10),  # it sleeps
        ([[(0, 0)], [(5, 15)]], 5),  # three others share a core with it
        ([[(0, 0)], [(0, 0)], [(5, 15)]], 5),  # the kernel counts a wait when it is over
        ([[(0, 0)] * 8, [(5, 15)] * 8], -10),  # eight threads of its own share two cores
        ([[(0, 0)] * 8, [(2.5, 17.5)] * 8], 0),  # and have half of them
        ([[(0, 0)] * 2, [(10, 10)] * 2], 0),  # two threads have half of two cores
        ([[(0, 0)] * 3, [(20, 0), (20, 0), (0, 19)]], -10),  # two spin where the third would run
    ],
)
def test_what_is_left(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, looks: list[list[tuple[float, float]]], left: float
) -> None:
    assert after(clock, monkeypatch, 20.0, looks) == pytest.approx(left)


def test_each_request_begins_anew(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    deadline = RequestDeadline()
    deadline.begin(1.0)
    for waited in (0, 5):
        monkeypatch.setattr(linux, "processor_times", lambda _, waited=waited: {1: (0, waited * NS)})
        deadline.look([1])
        clock[0] += 3
    assert deadline.left() == 0
    deadline.begin(2.0)
    clock[0] += 2.5
    assert deadline.left() == -0.5


def test_a_wait_that_goes_on_counts_once(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    deadline = RequestDeadline()
    deadline.begin(1.0)
    monkeypatch.setattr(linux, "is_ready", lambda task: task == 7)
    left = []
    for waited in (0, 0, 0, 4):
        monkeypatch.setattr(linux, "processor_times", lambda _, waited=waited: {7: (0, waited * NS), 8: (0, 0)})
        deadline.look([7])
        left.append(deadline.left())
        clock[0] += 2
    assert left == [1, 1, 1, -1]  # of the last two seconds nothing is known yet
