"""Follows docs/ci.md in an empty repository: from ``pip install`` to a red run with an annotation, to green, to red.

``python -m benchmarks.ci_walkthrough`` makes a repository with a converter of thirteen operators and a planted fault,
types the commands of docs/ci.md ("Set up") in it with a fresh virtual environment, and runs the step of the workflow
that ``irfuzz init`` wrote as GitHub would: with an empty baseline (red, with an annotation), then with the written
one (green), then with a second fault (red). It prints what each step took, the lines of configuration, and the share of
programs that the converter refused; it exits with 1 if a run has the wrong colour, if it took more than ten minutes to
the first red run, or if a tenth or more was refused. ``--time 40s`` shortens the campaigns, and ``--wheel FILE``
installs a wheel, as a user's pip does, instead of building this checkout.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path

from benchmarks.nightly.project import TARGET, Ended, Project, refused_share, summary_of

ROOT = Path(__file__).resolve().parents[1]
FIRST, SECOND = "gemm-beta", "transpose-default"
MINUTES, LINES, REFUSED = 10, 15, 0.1


def typed(installed: Path) -> list[str]:
    """The commands of the page, with what is installed and the converter in the places of examples."""
    section = (ROOT / "docs" / "ci.md").read_text().partition("## Set up")[2]
    block = section.partition("```bash\n")[2].partition("```")[0]
    words = {"'irfuzz[onnxruntime]'": f"'{installed}[onnxruntime]'", "my_package.my_module:MyConverter": TARGET}
    lines = [line for line in block.splitlines() if line.strip()]
    for word, other in words.items():
        lines = [line.replace(word, other) for line in lines]
    return lines


def step_of(workflow: Path, more: str) -> str:
    """The line of the workflow that fuzzes, on a pull request."""
    found = re.search(r"^ *- run: (irfuzz fuzz .*)$", workflow.read_text(), re.MULTILINE)
    if found is None:
        raise SystemExit(f"{workflow}: no step runs irfuzz fuzz")
    return re.sub(r"\$\{\{.*?\}\}", "pull-request", found[1]) + f" --json {more}"


def told(what: str, ended: Ended, wanted: int, problems: list[str]) -> None:
    if ended.code != wanted:
        problems.append(f"{what}: exit code {ended.code}, expected {wanted}\n{ended.out[-800:]}{ended.err[-1500:]}")
    print(f"{what:<44} exit {ended.code}  {ended.seconds:6.1f} s", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time", default="", help="of a campaign, instead of the budget's")
    parser.add_argument("--wheel", type=Path, default=ROOT, help="is installed instead of this checkout")
    args = parser.parse_args()
    more = f"--time {args.time}" if args.time else ""
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="walkthrough-") as place:
        folder, venv = Path(place, "repository"), Path(place, "venv")
        folder.mkdir()
        project = Project(folder, {"PATH": f"{venv}/bin:/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": ""})
        project.plant(FIRST)
        told(
            "git init; a virtual environment",
            project.run(f"git init -q && {sys.executable} -m venv {venv}"),
            0,
            problems,
        )
        install, init, *_, baseline, add = typed(args.wheel.resolve())
        setting_up = [project.run(line) for line in (install, init)]
        for line, ended in zip((install, init), setting_up, strict=True):
            told(line.replace(str(ROOT), "."), ended, 0, problems)
        step = step_of(folder / ".github" / "workflows" / "irfuzz.yml", more)
        red = project.run(step, GITHUB_ACTIONS="true")
        told("the workflow's step, an empty baseline", red, 1, problems)
        seconds = sum(ended.seconds for ended in (*setting_up, red))
        annotations = [line for line in red.err.splitlines() if line.startswith("::error title=irfuzz")]
        told(baseline, project.run(baseline), 0, problems)
        told(add, project.run(add), 0, problems)
        told("the workflow's step, with the baseline", project.run(step, GITHUB_ACTIONS="true"), 0, problems)
        project.plant(FIRST, SECOND)
        last = project.run(step, GITHUB_ACTIONS="true")
        told("the workflow's step, a second fault", last, 1, problems)
        lines = len((folder / "irfuzz.toml").read_text().splitlines())
        share = refused_share(summary_of(last))
    print(*annotations, sep="\n")
    print(f"{seconds / 60:.1f} minutes to the first red run, {lines} lines of irfuzz.toml, {share:.1%} refused")
    problems += [] if annotations else ["no annotation of the first red run"]
    problems += [f"{seconds / 60:.1f} minutes, more than {MINUTES}"] if seconds > 60 * MINUTES else []
    problems += [f"{share:.1%} refused"] if share >= REFUSED else []
    problems += [f"{lines} lines"] if lines > LINES else []
    print(*problems, sep="\n", file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
