"""Real runs of AFL++ and Atheris on onnx's checker and strict shape inference, with irfuzz's mutator and without.

The target is onnx's C++ library, built with instrumentation from its source distribution, and ``harness.cpp``. Both
sides start from the same corpus (``irfuzz seeds export``, or the one model ``one-Relu.onnx`` of it) and get the same
number of executions, or with ``--minutes`` (AFL++ alone) the same time. Printed for each seed: edges (AFL++) or
features (Atheris) reached, and the shares of inputs that parse and that pass the checker. Results are kept in
``RUNS/results.json``: a run that is there is not made again.

Needs AFL++ (``apt install afl++``), clang, CMake 3.26, Ninja, protobuf (``apt install libprotobuf-dev
protobuf-compiler``) and ``pip install atheris``.

Run ``python -m benchmarks.embedding.coverage --build BUILD [--with afl,atheris]`` once, then
``python -m benchmarks.embedding.coverage --build BUILD --runs OUT [-n 5000] [--seeds 2] [--corpus full|one]``; the
acceptance is ``-n 100000 --seeds 5``, and ``--minutes 10 --seeds 5``.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tarfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ONNX = "1.23.2"
COMPILERS = {
    "afl": ("afl-clang-fast", "afl-clang-fast++", "-O1"),
    "atheris": ("clang", "clang++", "-O1 -fsanitize=fuzzer-no-link"),
}
TURNS = 40
"""How often Atheris is started again where its process has ended before all executions are done."""

SIDES = ("irfuzz", "bytes")

LONGEST = 1_000_000
"""Bytes of an input."""


@dataclass(frozen=True)
class Outcome:
    """What one run reached."""

    reached: int
    executed: int
    parsed: float
    checked: float
    crashed: int


def build(folder: Path, kind: str) -> None:
    """Onnx's library and the harness, instrumented for one fuzzer."""
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / f"onnx-{ONNX}"
    if not source.exists():
        pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", "onnx", "--no-build-isolation"]
        subprocess.run([*pip, "-d", str(folder), f"onnx=={ONNX}"], check=True)
        with tarfile.open(folder / f"onnx-{ONNX}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    cc, cxx, flags = COMPILERS[kind]
    made = folder / kind
    options = {
        "CMAKE_C_COMPILER": cc,
        "CMAKE_CXX_COMPILER": cxx,
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_CXX_FLAGS": flags,
        "CMAKE_POSITION_INDEPENDENT_CODE": "ON",
        "ONNX_USE_PROTOBUF_SHARED_LIBS": "ON",
        "ONNX_BUILD_PYTHON": "OFF",
        "ONNX_GEN_PB_TYPE_STUBS": "OFF",
        "ONNX_ML": "ON",
    }
    configure = [f"-D{name}={value}" for name, value in options.items()]
    subprocess.run(["cmake", "-S", str(source), "-B", str(made), "-G", "Ninja", *configure], check=True)
    ninja = ["ninja", "-C", str(made)]
    listed = subprocess.run([*ninja, "-t", "targets", "all"], check=True, capture_output=True, text=True).stdout
    objects = re.findall(r"^(CMakeFiles/onnx\.dir/onnx/(?!version_converter).*\.o):", listed, re.MULTILINE)
    subprocess.run([*ninja, "onnx_proto", *objects], check=True)
    whole = [*(str(made / name) for name in objects), str(made / "libonnx_proto.a"), "-lprotobuf", "-lpthread"]
    defines = ["-DONNX_NAMESPACE=onnx", "-DONNX_ML=1", "-std=c++17", f"-I{source}", f"-I{made}"]
    target = ["-fsanitize=fuzzer", "-o", str(made / "harness")]
    if kind == "atheris":
        target = ["-shared", "-fPIC", "-o", str(made / "libharness.so")]
    subprocess.run([cxx, *flags.split(), *defines, str(HERE / "harness.cpp"), *whole, *target], check=True)


def afl(built: Path, corpus: Path, out: Path, seed: int, amount: int, ours: bool, *, seconds: bool = False) -> Outcome:
    """One run of afl-fuzz of so many executions, or of so many seconds."""
    counts = out.with_suffix(".counts")
    env = {
        **os.environ,
        "AFL_NO_UI": "1",
        "AFL_SKIP_CPUFREQ": "1",
        "AFL_NO_AFFINITY": "1",
        "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES": "1",
        "AFL_DISABLE_TRIM": "1",
        "AFL_FAST_CAL": "1",
        "IRFUZZ_COUNTS": str(counts),
    }
    if ours:
        env |= {"AFL_PYTHON_MODULE": "irfuzz.embed.aflpp", "AFL_CUSTOM_MUTATOR_ONLY": "1", "PYTHONPATH": _path()}
    limits = ["-s", str(seed), "-V" if seconds else "-E", str(amount), "-t", "10000", "-m", "none"]
    command = ["afl-fuzz", *limits, "-i", str(corpus), "-o", str(out), "--", str(built / "afl" / "harness")]
    with out.with_suffix(".log").open("wb") as log:
        subprocess.run(command, env=env, stdout=log, stderr=log, check=True)
    text = (out / "default" / "fuzzer_stats").read_text(encoding="utf-8")
    stats = dict(re.findall(r"^(\w+)\s*: (\S+)", text, re.MULTILINE))
    return _outcome(int(stats["edges_found"]), counts)


def atheris(built: Path, corpus: Path, out: Path, seed: int, executions: int, ours: bool) -> Outcome:
    """One run of Atheris, in a process of its own."""
    import importlib.util

    out.mkdir(parents=True)
    counts = out.with_suffix(".counts")
    found = importlib.util.find_spec("atheris")
    assert found is not None
    assert found.origin is not None
    package = Path(found.origin).parent
    # libFuzzer looks for its custom functions when it is loaded; without these it leaves them out and says nothing.
    custom = [str(next(package.glob(f"custom_{kind}.*.so"))) for kind in ("mutator", "crossover")]
    preload = [str(package.parent / "asan_with_fuzzer.so"), *(custom if ours else ())]
    env = {
        **os.environ,
        "LD_PRELOAD": " ".join(preload),
        # Stacks of allocations and memory kept from use take more time than the target does, and nothing looks at them.
        "ASAN_OPTIONS": "detect_leaks=0:handle_segv=0:handle_abort=0:malloc_context_size=0:quarantine_size_mb=1",
        "IRFUZZ_SURVIVE": "1",
        "IRFUZZ_COUNTS": str(counts),
        "PYTHONPATH": _path(),
    }
    script = [sys.executable, str(HERE / "atheris_harness.py"), str(built / "atheris" / "libharness.so")]
    log = out.with_suffix(".log")
    for turn in range(TURNS):
        left = executions - (_outcome(0, counts).executed if counts.exists() else 0)
        if left <= 0:
            break
        flags = [f"-seed={seed + 1000 * turn}", f"-runs={left}", f"-max_len={LONGEST}", "-len_control=0"]
        flags += ["-handle_segv=0", "-handle_abrt=0", "-print_funcs=0", f"-artifact_prefix={out.parent}/"]
        command = [*script, "ours" if ours else "bytes", str(out), str(corpus), *flags]
        with log.open("ab") as stream:  # libFuzzer ends where the process of target and mutator does
            subprocess.run(command, env=env, stdout=stream, stderr=stream, check=False)
    features = re.findall(rb"ft: (\d+)", log.read_bytes())
    # The most, not the last: what a process that goes on from the corpus first tells is less.
    return _outcome(max(map(int, features)), counts)


def _path() -> str:
    """Where the fuzzer's own interpreter finds what this one has."""
    return os.pathsep.join([str(ROOT), *(entry for entry in sys.path if entry.endswith("site-packages"))])


def _outcome(reached: int, counts: Path) -> Outcome:
    data = counts.read_bytes()
    executed, parsed, checked, _, crashed = (int.from_bytes(data[at : at + 8], "little") for at in range(0, 40, 8))
    return Outcome(reached, executed, parsed / executed, checked / executed, crashed)


RUNS = {"afl": afl, "atheris": atheris}


def timed(built: Path, corpus: Path, runs: Path, seed: int, minutes: float) -> dict[str, Outcome]:
    """Both sides of a seed by AFL++ at once, for the same time; each has a core where there are two."""

    def side(name: str) -> Outcome:
        out = runs / f"afl-{corpus.name}-{minutes:g}min-{seed}-{name}"
        shutil.rmtree(out, ignore_errors=True)
        out.with_suffix(".counts").unlink(missing_ok=True)
        return afl(built, corpus, out, seed, round(60 * minutes), name == "irfuzz", seconds=True)

    with ThreadPoolExecutor() as pool:
        return dict(zip(SIDES, pool.map(side, SIDES), strict=True))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--build", type=Path, required=True, help="folder of the instrumented library")
    parser.add_argument("--runs", type=Path, help="new folder of the runs; without it, only build")
    parser.add_argument("--with", dest="kinds", default="afl,atheris")
    parser.add_argument("-n", type=int, default=5000, help="executions of a run")
    parser.add_argument("--minutes", type=float, help="of a run of AFL++ instead; both sides run at once")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--corpus", choices=("full", "one"), default="full")
    parser.add_argument("--max-bytes", type=int, default=5000, help="of a model of the corpus")
    args = parser.parse_args()
    kinds = ["afl"] if args.minutes else args.kinds.split(",")
    if args.runs is None:
        for kind in kinds:
            build(args.build.resolve(), kind)
        return
    runs = args.runs.resolve()
    corpus = runs / "corpus"
    if not corpus.exists():
        sizes = ["--max-bytes", str(args.max_bytes)]
        export = [sys.executable, "-m", "irfuzz", "seeds", "export", "-o", str(corpus), *sizes]
        subprocess.run(export, check=True)
    if args.corpus == "one":
        single = runs / "corpus-one"
        single.mkdir(exist_ok=True)
        shutil.copy(corpus / "one-Relu.onnx", single)
        corpus = single
    stored = runs / "results.json"
    known: dict[str, dict[str, float]] = json.loads(stored.read_text(encoding="utf-8")) if stored.exists() else {}
    for kind in kinds:
        ratios: list[float] = []
        for seed in range(1, args.seeds + 1):
            found: dict[str, dict[str, float]] = {}
            if args.minutes:
                key = f"afl-{args.corpus}-{args.minutes:g}min-{seed}"
                if f"{key}-{SIDES[0]}" not in known:
                    came = timed(args.build.resolve(), corpus, runs, seed, args.minutes)
                    known |= {f"{key}-{side}": asdict(outcome) for side, outcome in came.items()}
                    stored.write_text(json.dumps(known, indent=1), encoding="utf-8")
                found = {side: known[f"{key}-{side}"] for side in SIDES}
            for side in () if args.minutes else SIDES:
                name = f"{kind}-{args.corpus}-{args.n}-{seed}-{side}"
                if name not in known:
                    out = runs / name
                    shutil.rmtree(out, ignore_errors=True)
                    out.with_suffix(".counts").unlink(missing_ok=True)
                    outcome = RUNS[kind](args.build.resolve(), corpus, out, seed, args.n, side == "irfuzz")
                    known[name] = asdict(outcome)
                    stored.write_text(json.dumps(known, indent=1), encoding="utf-8")
                found[side] = known[name]
            ratios.append(found["irfuzz"]["reached"] / found["bytes"]["reached"])
            print(json.dumps({"fuzzer": kind, "seed": seed, "ratio": round(ratios[-1], 3), **found}), flush=True)
        print(f"{kind}: ratio {min(ratios):.2f} to {max(ratios):.2f}, median {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
