"""The live screen of a campaign in a terminal, and what a continued campaign says."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import sys
import termios
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import onnx.parser
import pytest
from rich.console import Console

import irfuzz
from irfuzz.api.fuzz_report import FuzzReport
from irfuzz.api.progress_update import Update
from irfuzz.campaign.campaign import CampaignProgress
from irfuzz.campaign.config import Config, Layout
from irfuzz.campaign.monitoring.campaign_figures import is_running
from irfuzz.cli.campaign_display import continued_lines
from irfuzz.cli.campaign_screen import NARROW, screen
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.finding import Finding
from irfuzz.isolate import linux
from irfuzz.oracle.verdict import Symptom, Verdict
from tests.campaign.running import alive, wait_until

PROGRESS = CampaignProgress(
    seconds=75.0, programs=1203, programs_this_run=1000, rate=16.04, corpus=310, findings=0, suspects=7, unreplayed=0,
    internal_errors=0, last=12.0, coverage={"input": 0.41},
    counts={"runs": 3609, "folder/a.py:Mine unsupported": 13, "reference rejected": 3, "untriaged": 4},
)  # fmt: skip
REPORT = FuzzReport(
    Path("out"), Config(seed=5), PROGRESS, (), (), {"reference": "1", "folder/a.py:Mine": ""}, {}, {},
    looked_into=("difference of reference",),
)  # fmt: skip


def shown(report: FuzzReport, width: int = 120) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(screen(report, 3700, width))
    return capture.get()


@pytest.mark.unit
def test_everything_has_its_place() -> None:
    text = re.sub(" +", " ", shown(REPORT))
    for part in (
        "run time 0:01:15 of 1:01:40", "programs 1203 (+1000)", "rate 16.0/s", "corpus 310", "new 0", "known 0",
        "suspects 7", "last new 12 s ago", "input 41.0%", "triage 4 wait", "looks into difference of reference",
        "runs 3609, 16 not ok", "a.py:Mine 13 unsupported",
    ):  # fmt: skip
        assert part in text, part
    idle = replace(REPORT, looked_into=(), progress=replace(PROGRESS, last=None, counts={}, coverage={}))
    text = re.sub(" +", " ", shown(idle))
    assert "triage nothing waits" in text
    assert "looks into nothing" in text
    assert "last new none yet" in text
    assert "runs" not in text


LONG = Finding(
    Verdict("o", Symptom.WRONG_SHAPE, "mine:Mine"), FailingCase(b"", b""), FailingCase(b"", b""), first=1.0,
    title="mine:Mine gives float32[2,3,4,1] instead of float32[4,1,3,2] in Add, Concat, MatMul, ReduceMean, Transpose",
)  # fmt: skip
BUSY = replace(
    REPORT,
    findings=(LONG, LONG, LONG),
    folders=(Path("a"), Path("b"), Path("c")),
    own=("other:Class",),
    looked_into=("difference of onnxruntime:extended in QLinearConv", "wrong-shape of mine:Mine"),
    progress=replace(
        PROGRESS, programs=12_345_678, unreplayed=2, internal_errors=1, python_lines={"onnx": 12345, "torch": 999},
        coverage=dict.fromkeys(("input", "parameter", "sequence", "pattern", "near pattern", "passes"), 0.123),
        counts={"runs": 37_000_000, "untriaged": 46, "folder/a_long_module.py:AConverterClass unsupported": 130_000,
                "folder/a_long_module.py:AConverterClass rejected": 12, "reference rejected": 3,
                "onnxruntime:disabled hang": 2, "onnxruntime:all unsupported": 12},
    ),
)  # fmt: skip


@pytest.mark.unit
@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40)])
def test_a_busy_campaign_fits_and_no_figure_is_cut(width: int, height: int) -> None:
    lines = shown(BUSY, width).splitlines()
    assert len(lines) < height, "a line is left for what stands below"
    assert {len(line) for line in lines} == {width}
    text = re.sub(" +", " ", "\n".join(lines))
    for part in (
        "programs 12345678 (+1000)", "new 0", "of others 3", "unreplayed 2", "internal errors 1", "near pattern 12.3%",
        "runs 37000000, 130029 not ok", "130000 unsupported", "12 unsupported", "3 rejected", "triage 46 wait",
        "last new mine:Mine gives float32[2,3,4,1] instead of float32",
        "looks into difference of onnxruntime:extended in QLinearConv",
    ):  # fmt: skip
        assert part in text, part


@pytest.mark.unit
def test_a_narrow_terminal_has_one_column() -> None:
    assert shown(REPORT, NARROW).count("╮╭") == 2
    assert "╮╭" not in shown(REPORT, NARROW - 1)


@pytest.mark.unit
def test_words_of_a_target_cannot_move_the_cursor() -> None:
    wild = replace(REPORT, looked_into=("difference of \x1b[2Jx",), starting_targets={"a\x1b[H": 9.0})
    assert "\x1b" not in shown(wild)


@pytest.mark.unit
def test_a_continued_campaign_says_what_it_has_and_does_first() -> None:
    first, second = continued_lines(REPORT)
    assert first == "continuing the campaign in out, seed 5: 1203 programs, corpus 310, findings 0, suspects 7"
    assert second.endswith("then 4 disagreements that wait for triage")
    (_, second) = continued_lines(replace(REPORT, progress=replace(PROGRESS, counts={})))
    assert second == "first: starting the targets"
    assert continued_lines(REPORT, 1204) == continued_lines(REPORT)
    assert continued_lines(REPORT, 1203)[-1] == "no more are run, as --programs 1203 counts those of earlier runs"


SECONDS = 3600
"""More than a campaign in a terminal takes; on a busy machine its targets take minutes to start."""

MODEL = '<ir_version: 8, opset_import: ["": 17]> g (float[N,3] x) => (float[N,3] y) { y = Relu(x) }'


def in_a_terminal(
    folder: Path, rows: int, columns: int, *words: str, until: Callable[[str], bool] = lambda _: False
) -> tuple[int, str]:
    """The exit code of a campaign in a terminal of its own, and all that it wrote.

    Args:
        folder: in which it runs, on a model of one node.
        rows: of the terminal.
        columns: of the terminal.
        words: more flags.
        until: Ctrl-C is typed once this is true of what it has written.
    """
    onnx.save(onnx.parser.parse_model(MODEL), folder / "relu.onnx")
    flags = ["relu.onnx", "--targets", "onnxruntime:disabled,reference", "--jobs", "1", "--time", f"{SECONDS}s", *words]
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        env = {**os.environ, "TERM": "xterm-256color"}
        for name in ("COLUMNS", "LINES"):  # what they say would count, not the terminal
            env.pop(name, None)
        os.execve(sys.executable, [sys.executable, "-P", "-m", "irfuzz", "fuzz", *flags], env)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    before, raw, processes = termios.tcgetattr(terminal), b"", list[int]()
    try:
        while data := os.read(terminal, 1 << 16):
            raw += data
            assert termios.tcgetattr(terminal) == before, "echo and line ends stay as they are"
            if not processes and until(raw.decode(errors="replace")):
                assert _process_group(terminal) == child, "what is typed goes to the command"
                processes = [child, *linux.descendants(child)]
                os.write(terminal, b"\x03")
    except OSError:
        pass  # the terminal of a process that has ended
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert wait_until(lambda: not any(map(alive, processes))), "no job or worker stays"
    # A terminal that is given Ctrl-C drops what nobody has read yet, be it in the middle of a character.
    return code, raw.decode(errors="replace" if processes else "strict")


def _process_group(terminal: int) -> int:
    """The processes to which the terminal sends SIGINT when Ctrl-C is typed."""
    return struct.unpack("i", fcntl.ioctl(terminal, termios.TIOCGPGRP, struct.pack("i", 0)))[0]


def frames(text: str) -> list[list[str]]:
    """Each state of the screen as its lines, without colours."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return [frame.splitlines() for frame in re.findall("╭─ process ─.*?(?=\x1b|$)", plain, re.DOTALL)]


@pytest.mark.parametrize(("rows", "columns"), [(24, 80), (40, 120)])
def test_the_screen_in_a_terminal(tmp_path: Path, rows: int, columns: int) -> None:
    code, text = in_a_terminal(tmp_path, rows, columns, "--programs", "12")
    assert code in (0, 1)
    assert all(f"─ {title} ─" in text for title in ("process", "findings", "coverage", "targets", "now"))
    last = frames(text)[-1]
    assert len(last) < rows
    assert {len(line) for line in last if line} == {columns}, "no line is wrapped"
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")  # the cursor is shown again
    after = text[text.rindex("\x1b[?25h") :]
    assert "─ process ─" not in after
    assert re.search(r"\d+ s, \d+ programs", after)


def judged(text: str) -> bool:
    """Whether the screen says that programs were judged."""
    return bool(frames(text)) and any(re.search(r"programs +[1-9]", line) for line in frames(text)[-1])


def test_typing_ctrl_c_ends_the_screen_and_says_what_was_found(tmp_path: Path) -> None:
    code, text = in_a_terminal(tmp_path, 24, 80, until=judged)
    after = text[text.rindex("\x1b[?25h") :]  # the cursor is shown again, and the last screen was removed
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")
    assert "─ process ─" not in after
    assert "Traceback" not in text
    summary = re.search(r"stopped: (\d+) s, (\d+) programs .* findings (\d+)", after)
    assert summary, after
    seconds, programs, found = map(int, summary.groups())
    assert seconds < SECONDS
    assert programs > 0
    assert (code == 1) == (f"exit code 1: {found} of {found} findings new" in after) == (found > 0)
    assert code in (0, 1)
    assert not is_running(Layout(tmp_path / "irfuzz-out"))


def test_typing_ctrl_c_before_a_program_was_judged_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    code, text = in_a_terminal(tmp_path, 24, 80, until=lambda text: "reading models" in text or bool(frames(text)))
    assert code in (0, 130)
    assert "Traceback" not in text
    assert text.count("\x1b[?25h") >= text.count("\x1b[?25l")  # the cursor is shown again


def test_a_second_run_plans_no_inputs_again(tmp_path: Path) -> None:
    doing: list[list[str]] = []

    def run(programs: int) -> None:
        doing.append([])

        def told(update: Update[FuzzReport]) -> None:
            doing[-1].append(update.doing)

        irfuzz.fuzz(
            onnx.parser.parse_model(MODEL), tmp_path / "out", targets=["reference"], seconds=300, programs=programs,
            options=irfuzz.FuzzOptions(jobs=1), progress=told,
        )  # fmt: skip

    run(2)
    run(3)
    planning = "looking for sizes of inputs"
    assert planning in doing[0]
    assert planning not in doing[1]
