"""What irfuzz makes of its own files when they are damaged: traces, findings, databases, indexes, tables, arrays.

Takes the folder of a campaign, copies what is read, damages one file by a seed (bytes turned, cut or repeated; values
of JSON and TOML replaced, removed or repeated; values and tables of a database) and runs what reads it, in a process
with a limit of memory and time. Good is the command's answer, or one line on standard error and exit code 2; bad is
any other exception or exit code, more than one line of error, a death, or a limit that was reached.

Run ``python benchmarks/damaged_stores.py CAMPAIGN [--count 300] [--seed 0] [--only KIND]``, where CAMPAIGN is what
``irfuzz fuzz --out`` wrote and ``--count`` is for each kind. Exit code 1 if anything is bad.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import io
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.damaged_models import Server, damaged_bytes

ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    2**70,
    1e308,
    float("nan"),
    "",
    "x" * 5000,
    "\0",
    "../../x",
    [],
    {},
    [[]],
    [None],
    {"": {}},
)
"""What stands in place of a value of JSON."""


RESUMED_SECONDS = 120
"""For a campaign of two seconds on a busy machine."""

BLEND = """\
op = "Blend"
domain = "test.custom"
doc = "Blend-1: alpha parts of one value, and the rest of another"

[schema]
inputs = [{ name = "X", type = "T" }, { name = "Y", type = "T" }]
outputs = [{ name = "Z", type = "T" }]
types = { T = ["tensor(float)", "tensor(double)"] }
attributes = { alpha = { type = "FLOAT", default = 0.5 } }

[dims]
X = "broadcast(*S)"
Y = "broadcast(*S)"

[attrs]
alpha = { range = [0.0, 1.0], at_least = 0, at_most = 1, invalid = [-1.0, 2.0] }

[results]
Z = "broadcast(*S)"

[numerics]
kind = "elementwise"
"""
"""As in docs/extending.md."""

PROGRESS = re.compile("irfuzz: (reading|[0-9])")
"""Lines that a command tells while it works."""


def damaged_json(text: bytes, rng: random.Random) -> bytes:
    """A JSON text with a few of its values replaced, removed or repeated."""
    whole = json.loads(text)
    for _ in range(rng.choice((1, 1, 2, 4))):
        places = list(_places(whole))
        if not places:
            break
        holder, key = rng.choice(places)
        match rng.randrange(4):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, list):
                holder.insert(key, holder[key])
            case 1:
                holder[f"{key}_"] = holder.pop(key)
            case 2 if isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
                holder[key] = rng.choice((-holder[key], holder[key] + 1, holder[key] * 10**9, str(holder[key])))
            case _:
                holder[key] = rng.choice(ODD)
    return json.dumps(whole).encode()


def _places(value: Any) -> list[tuple[Any, Any]]:
    keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    return [(value, k) for k in keys] + [place for k in keys for place in _places(value[k])]


def damaged_toml(text: bytes, rng: random.Random) -> bytes:
    """A TOML text with a few of its lines removed, repeated, or with another value."""
    lines = text.decode().splitlines()
    odd = (
        '""',
        "-1",
        "0",
        "1e400",
        "[]",
        "{}",
        "true",
        "[[]]",
        '["", 3]',
        "nan",
        '"x = ("',
        str(2**63 - 1),
        "1979-05-27",
    )
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(lines))
        key, sign, _ = lines[at].partition("=")
        match rng.randrange(4):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, lines[at])
            case _ if sign:
                lines[at] = f"{key}= {rng.choice(odd)}"
            case _:
                lines[at] = rng.choice(("[", "[[x]]", "[x.y]", "x", "= 1", "\u202e = 2"))
        lines = lines or [""]
    return "\n".join(lines).encode()


def damaged_database(data: bytes, rng: random.Random) -> bytes:
    """A database with spoilt bytes, or with values, tables or columns that are not what they were."""
    if rng.random() < 0.4:
        return damaged_bytes(data, rng)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "d.sqlite")
        path.write_bytes(data)
        with contextlib.closing(sqlite3.connect(path)) as base, contextlib.suppress(sqlite3.Error):
            tables = [name for (name,) in base.execute("select name from sqlite_master where type = 'table'")]
            for _ in range(rng.choice((1, 2, 5)) if tables else 0):
                table = rng.choice(tables)
                columns = [row[1] for row in base.execute(f"pragma table_info('{table}')")]
                if not columns:
                    continue  # dropped by now
                if rng.random() < 0.1:
                    base.execute(f"drop table '{table}'")
                elif rng.random() < 0.1:
                    base.execute(f"alter table '{table}' rename column '{rng.choice(columns)}' to 'other'")
                else:
                    odd = rng.choice((None, "", "x", b"\0\1", -1, 2**62, 1.5, "{}", "[", '{"a": []}'))
                    some = f"where rowid in (select rowid from '{table}' order by random() limit 1)"
                    base.execute(f"update '{table}' set '{rng.choice(columns)}' = ? {some}", (odd,))
            base.commit()
        return path.read_bytes()


def damaged(path: Path, rng: random.Random) -> None:
    """Damage a file as its kind asks for; sometimes bytes alone."""
    data = path.read_bytes()
    ways: dict[str, Callable[[bytes, random.Random], bytes]] = {
        ".json": damaged_json, ".toml": damaged_toml, ".sqlite": damaged_database
    }  # fmt: skip
    way = ways.get(path.suffix, damaged_bytes)
    path.write_bytes((damaged_bytes if rng.random() < 0.3 else way)(data, rng))


def command(*words: str | Path) -> str:
    """What a command of irfuzz says, run in this process."""
    from irfuzz.cli.main import main

    said, told = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(told):
            code = main([str(w) for w in words])
    except SystemExit as ended:
        code = ended.code  # type: ignore[assignment]
    lines = [line for line in told.getvalue().splitlines() if line.strip() and not PROGRESS.match(line)]
    if code in (0, 1):
        return "answered"
    if code == 2 and len(lines) == 1:
        return "error"
    return f"BAD exit {code}, {len(lines)} lines: {' | '.join(lines)[-300:]}"


def trace(folder: Path, rng: random.Random) -> str:
    """A finding's trace, replayed."""
    damaged(folder / "finding" / "trace.json", rng)
    return command("replay", folder / "finding" / "trace.json", "--seeds", folder / "seeds")


def finding(folder: Path, rng: random.Random) -> str:
    """A finding's description, shown."""
    damaged(folder / "finding" / "finding.json", rng)
    return command("findings", "show", folder / "finding")


def finding_list(folder: Path, rng: random.Random) -> str:
    """The list of a campaign of which one finding is damaged."""
    damaged(rng.choice(sorted((folder / "campaign" / "findings").glob("*/finding.json"))), rng)
    return command("findings", "list", folder / "campaign", *(["--json"] if rng.random() < 0.5 else []))


def database_list(folder: Path, rng: random.Random) -> str:
    """The list of a campaign with a damaged database."""
    damaged(folder / "campaign" / "campaign.sqlite", rng)
    return command("findings", "list", folder / "campaign")


def database_coverage(folder: Path, rng: random.Random) -> str:
    """The coverage of a campaign with a damaged database."""
    damaged(folder / "campaign" / "campaign.sqlite", rng)
    return command("coverage", folder / "campaign")


def resume(folder: Path, rng: random.Random) -> str:
    """A campaign with a damaged database goes on, or ends in one line."""
    from irfuzz.shipped_folders import seeds_dir

    damaged(folder / "campaign" / "campaign.sqlite", rng)
    words = ["fuzz", seeds_dir() / "text.onnx", "--out", folder / "campaign", "--targets", "reference,numpy:eager"]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "irfuzz", *map(str, words), "--time", "2s", "--jobs", "1", "--quiet"],
        capture_output=True, text=True, check=False, timeout=RESUMED_SECONDS,
    )  # fmt: skip
    errors = [line for line in done.stderr.splitlines() if line.startswith("irfuzz: error")]
    if done.returncode in (0, 1):
        return "answered"
    if done.returncode == 2 and len(errors) == 1:
        return "error"
    return f"BAD exit {done.returncode}: {' | '.join(done.stderr.splitlines())[-300:]}"


def index(folder: Path, rng: random.Random) -> str:
    """A folder of seeds with a damaged index."""
    damaged(folder / "seeds" / "index.toml", rng)
    return command("seeds", "list", "--dir", folder / "seeds")


def project(folder: Path, rng: random.Random) -> str:
    """A damaged irfuzz.toml beside a model."""
    (folder / "irfuzz.toml").write_text(
        'inputs.x = { shape = [1, 2], range = [0, 1] }\n[models."m.onnx"]\ninputs.x = { shape = [1, 2] }\n'
        '[fuzz]\ntargets = ["reference"]\ntime = "3s"\n'
    )
    damaged(folder / "irfuzz.toml", rng)
    from irfuzz.frontends.project_file import read_project_file

    read_project_file(folder / "irfuzz.toml")
    return "answered"


def operators(folder: Path, rng: random.Random) -> str:
    """A damaged file of ``ops/``."""
    from irfuzz.shipped_folders import ops_dir
    from irfuzz.spec.operator_registry import Specs

    shutil.copytree(ops_dir(), folder / "ops")
    damaged(rng.choice(sorted((folder / "ops").rglob("*.toml"))), rng)
    specs = Specs(folder / "ops")
    return f"answered{'' if list(specs.overlaid(17)) else ', and has no operator'}"


def user_operators(folder: Path, rng: random.Random) -> str:
    """A damaged file of the user's, of ``IRFUZZ_OPS``, which a process reads when it first asks for an operator."""
    (folder / "own").mkdir()
    (folder / "own" / "Blend.toml").write_text(BLEND)
    damaged(folder / "own" / "Blend.toml", rng)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "irfuzz", "ops", "test.custom.Blend"],
        capture_output=True, text=True, check=False, env={**os.environ, "IRFUZZ_OPS": str(folder / "own")},
    )  # fmt: skip
    lines = done.stderr.splitlines()
    if done.returncode == 0:
        return "answered"
    if done.returncode == 2 and len(lines) == 1:
        return "error"
    return f"BAD exit {done.returncode}, {len(lines)} lines: {' | '.join(lines)[-300:]}"


def known(folder: Path, rng: random.Random) -> str:
    """A damaged table of known issues."""
    from irfuzz.findings import known_issues

    path = folder / "known.toml"
    shutil.copy(Path(known_issues.__file__).with_suffix(".toml"), path)
    damaged(path, rng)
    known_issues.read_rules(path)
    return "answered"


def baseline(folder: Path, rng: random.Random) -> str:
    """A damaged baseline."""
    from irfuzz.findings.baseline import read_baseline

    path = folder / "baseline.json"
    command("findings", "baseline", folder / "campaign", "-o", path)
    damaged(path, rng)
    read_baseline(path)
    return "answered"


def recover(folder: Path, rng: random.Random) -> str:
    """What can be read of a damaged database, which is a campaign then that can be read whole."""
    damaged(folder / "campaign" / "campaign.sqlite", rng)
    answer = command("findings", "recover", folder / "campaign", "-o", folder / "new", "--quiet")
    if answer != "answered":
        return answer
    listed = command("findings", "list", folder / "new")
    return "answered" if listed == "answered" else f"BAD recovered, but its list: {listed}"


def minimise(folder: Path, rng: random.Random) -> str:
    """The corpus of a campaign with a damaged database, made smaller."""
    damaged(folder / "campaign" / "campaign.sqlite", rng)
    return command("corpus", "minimise", folder / "campaign", "--quiet")


def samples(folder: Path, rng: random.Random) -> str:
    """A damaged npz, as ``--data``, ``--inputs`` and the folder of a finding have."""
    from irfuzz.api.npz_sample_reading import read_values

    path = folder / "samples.npz"
    save = rng.choice((np.savez, np.savez_compressed))
    save(path, x=np.ones((2, 3), np.float32), names=np.array(["a", "é"]), empty=np.zeros((0, 3), np.int64))
    damaged(path, rng)
    read_values(path, f"--data {path}")
    return "answered"


def labels(folder: Path, rng: random.Random) -> str:
    """A damaged npy, as ``--labels`` takes."""
    from irfuzz.api.npz_sample_reading import read_array

    path = folder / "labels.npy"
    np.save(path, rng.choice((np.arange(6), np.ones((2, 3), np.float32))))
    damaged(path, rng)
    read_array(path, f"--labels {path}")
    return "answered"


def ranges(folder: Path, rng: random.Random) -> str:
    """A damaged file of ``--ranges``."""
    from irfuzz.frontends.project_file import read_ranges
    from irfuzz.frontends.toml_file_reading import read_toml

    path = folder / "ranges.toml"
    path.write_text('x = [0, 1]\n"a.b" = [-1.5, 1e3]\n')
    damaged(path, rng)
    read_ranges(read_toml(path, f"--ranges {path}"), f"--ranges {path}")
    return "answered"


KINDS: dict[str, Callable[[Path, random.Random], str]] = {
    one.__name__: one
    for one in (
        trace,
        finding,
        finding_list,
        database_list,
        database_coverage,
        resume,
        index,
        project,
        operators,
        user_operators,
        known,
        baseline,
        recover,
        minimise,
        samples,
        labels,
        ranges,
    )
}


SEPARATE = {"resume": 10, "user_operators": 3}
"""Kinds that start processes of their own, without this one's limit of memory, and of how many cases one is run."""


def case(campaign: Path, kind: str, name: str) -> str:
    """One damaged file of a kind, and what came of it."""
    from irfuzz.shipped_folders import seeds_dir

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if kind in ("trace", "finding"):
            chosen = random.Random(name).choice(sorted(p.parent for p in (campaign / "findings").glob("*/trace.json")))
            shutil.copytree(chosen, folder / "finding")
        if kind.startswith(("finding_list", "database", "baseline", "resume", "recover", "minimise")):
            shutil.copytree(
                campaign, folder / "campaign", ignore=shutil.ignore_patterns("logs", "*.lock", "*.onnx", "*.npz")
            )
        if kind in ("trace", "index"):
            (folder / "seeds").mkdir()
            for path in (*seeds_dir().glob("*.toml"), *seeds_dir().glob("*.onnx")):
                (folder / "seeds" / path.name).symlink_to(path) if path.suffix == ".onnx" else shutil.copy(
                    path, folder / "seeds"
                )
        return KINDS[kind](folder, random.Random(name))


def main(words: Sequence[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("campaign", type=Path, help="what irfuzz fuzz --out wrote, with findings")
    parser.add_argument("--count", type=int, default=300, help="damaged files of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=KINDS, action="append", help="this kind alone; may be repeated")
    given = parser.parse_args(words)
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    server, began = Server(), time.monotonic()
    try:
        for number in range(given.count):
            for kind in given.only or KINDS:
                if kind in SEPARATE and number % SEPARATE[kind]:
                    continue
                asked = (given.campaign, kind, f"{given.seed}/{kind}/{number}")
                answer = case(*asked) if kind in SEPARATE else server.ask(case, *asked)
                counts[kind, answer] += 1
                if answer.startswith("BAD") and counts[kind, answer] == 1:
                    print(f"{kind} {number}: {answer}", flush=True)
    finally:
        server.close()
    for (kind, answer), n in sorted(counts.items()):
        print(f"{n:6} {kind:18} {answer}")
    bad = sum(n for (_, answer), n in counts.items() if answer.startswith("BAD"))
    print(f"{time.monotonic() - began:.0f} s; {bad} bad")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
