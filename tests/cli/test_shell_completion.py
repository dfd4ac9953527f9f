"""Shells complete commands, flags and files by what irfuzz --print-completion prints."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from irfuzz.cli.main import COMMANDS, main
from irfuzz.cli.shell_completion import FLAG, SHELLS

COMPLETE = """
source "$1"
complete=$(complete -p irfuzz | sed 's/.*-F \\([^ ]*\\).*/\\1/')
shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
$complete
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.unit
def test_bash_completes_commands_flags_and_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("shtab")
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    assert main([FLAG, "bash"]) == 0
    script = tmp_path / "irfuzz.bash"
    script.write_text(capsys.readouterr().out)
    monkeypatch.chdir(tmp_path)
    Path("model.onnx").touch()

    def completed(*words: str) -> list[str]:
        done = subprocess.run(
            [bash, "-c", COMPLETE, "bash", script, *words], capture_output=True, text=True, check=True
        )
        return done.stdout.split()

    assert {command.NAME for command in COMMANDS} <= set(completed("irfuzz", ""))
    assert completed("irfuzz", "fuzz", "--lea") == ["--learn"]
    assert completed("irfuzz", "findings", "li") == ["list"]
    assert "model.onnx" in completed("irfuzz", "check", "mod")


@pytest.mark.unit
@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_gets_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("shtab")
    assert main([FLAG, shell]) == 0
    printed = capsys.readouterr().out
    assert all(command.NAME in printed for command in COMMANDS)


@pytest.mark.unit
@pytest.mark.parametrize("words", [["fish"], [], ["bash", "zsh"]])
def test_another_shell_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([FLAG, *words]) == 2
    assert "expected one of bash, zsh, tcsh, got" in capsys.readouterr().err
