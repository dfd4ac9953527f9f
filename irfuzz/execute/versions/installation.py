"""Builds a complete environment that holds a requirement (``onnxruntime==1.29.0``), or nothing at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irfuzz.errors import UsageError
from irfuzz.execute.adapters.adapter import SINGLE_THREAD, WORKERS, Adapter
from irfuzz.execute.adapters.tool_table import TOOL_ADAPTERS
from irfuzz.execute.target_table import BUILT_IN, ONNXRUNTIME, lacking
from irfuzz.execute.versions import environments, node_packages, software_vulkan
from irfuzz.execute.versions.environments import NAME, Environment
from irfuzz.execute.versions.interpreters import find_interpreter
from irfuzz.execute.versions.recipes import RECIPES
from irfuzz.isolate import Limits, Worker, WorkerSpec
from irfuzz.isolate.guard import guarded

REQUIREMENT = re.compile(r"([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)\s*==\s*([\w.+!]*\w)")

MODULES: Mapping[str, str] = {
    "ai-edge-litert": "ai_edge_litert",
    "iree-base-compiler": "iree.compiler",
    "onnx-graphsurgeon": "onnx_graphsurgeon",
    "mnn": "MNN",
    "apache-tvm": "tvm",
    "onnxruntime-gpu": "onnxruntime",
    "onnxruntime-openvino": "onnxruntime",
    "onnxruntime-webgpu": "onnxruntime",
    "opencv-python": "cv2",
    "opencv-python-headless": "cv2",
    "tensorflow-cpu": "tensorflow",
    **dict.fromkeys(node_packages.NPM_PACKAGES, "numpy"),  # node imports them, not Python
}
"""What a distribution is imported as, where that is not its own name."""

COMPANIONS = ("onnx", "ml-dtypes")
"""What scripts of findings import beside the component."""

RUNTIME = "onnxruntime"
"""What scripts of findings run a tool's model on."""

IMPORT_SECONDS = 300.0
"""How long a component may take to import for the first time, when Python compiles its files."""

_UNREACHABLE = re.compile(
    r"NewConnectionError|Failed to establish a new connection|name resolution|Name or service not known"
    r"|ConnectTimeout|ReadTimeout|ProxyError|Connection refused|Network is unreachable|Max retries exceeded|SSLError"
    r"|\(from versions: none\)"  # pip's only word where it is told not to try again
)
_OLDER: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (
        re.compile(r"compiled using NumPy 1\.x|_ARRAY_API not found|numpy\.core\.multiarray failed to import"),
        "numpy",
        "numpy<2",
    ),
    (re.compile(r"Descriptors cannot (not )?be created directly"), "protobuf", "protobuf<3.21"),
)
"""How an import ends with a package that is too new; the package, and the release that serves."""

_NO_COMPANION = re.compile(rf"satisfies the requirement ({'|'.join((*COMPANIONS, RUNTIME))})\b")
"""pip's word on one of them that has no wheel for an old Python."""

Say = Callable[[str], None]


class _NeedsOlder(UsageError):
    """The component was built for an older release of a package than pip chose.

    Attributes:
        package: its name.
        requirement: what to add to what pip gets.
    """

    def __init__(self, message: str, package: str, requirement: str) -> None:
        super().__init__(f"{message}: add --with {shlex.quote(requirement)}")
        self.package = package
        self.requirement = requirement


@dataclass(frozen=True, slots=True)
class PackageSource:
    """Where packages come from.

    Attributes:
        wheels: this folder alone, without any index; ``None`` for the index.
        built: the component comes as a wheel or not at all, for building an old one takes minutes and tools.
    """

    wheels: Path | None = None
    built: bool = False

    def flags(self, distribution: str) -> list[str]:
        """Of ``pip install``; what scripts import beside the component is never built, for no script is worth it.

        Args:
            distribution: the component's; it may be built, unless ``built`` is set.

        Returns:
            Arguments for the command line, before the requirements.
        """
        place = self.wheels
        folder = [] if place is None else ["--no-index", "--find-links", str(place.expanduser().absolute())]
        names = dict.fromkeys((*COMPANIONS, distribution))
        as_wheels = ",".join(name for name in names if self.built or name != distribution)
        return [*folder, *(["--only-binary", as_wheels] if as_wheels else [])]


@dataclass(frozen=True, slots=True)
class WantedEnvironment:
    """What the user wants an environment of.

    Attributes:
        distribution: as pip calls it, in lower case with hyphens.
        version: exactly this one.
        given: what pip gets: the requirement, or a wheel's path.
        beside: further requirements, of a recipe.
        alone: requirements that pip gets afterwards, without what they need; of a recipe.
        driver: a Vulkan driver that needs no GPU comes, too; of a recipe.
    """

    distribution: str
    version: str
    given: str
    beside: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()
    driver: bool = False


INDEX = PackageSource()
"""The index that pip is set up for."""


def read_wish(text: str) -> WantedEnvironment:
    """``onnxruntime==1.29.0``, the path of a wheel, or the word of a recipe.

    Args:
        text: of the user; a wheel's name tells distribution and version, and the file must be there.

    Raises:
        UsageError: it is neither.
    """
    if text.endswith(".whl"):
        path = Path(text).expanduser().absolute()
        parts = path.stem.split("-")
        if not path.is_file() or len(parts) < 5:
            raise UsageError(f"{text}: expected the file of a wheel, such as onnxruntime-1.29.0-cp311-...whl")
        return WantedEnvironment(_normal(parts[0]), parts[1], str(path))
    recipe = RECIPES.get(text.strip())
    found = REQUIREMENT.fullmatch(recipe.requirement if recipe else text.strip())
    if found is None:
        raise UsageError(
            f"{text!r}: expected one exact version, such as onnxruntime==1.29.0, the file of a wheel, "
            f"or one of {', '.join(RECIPES)}"
        )
    distribution = _normal(found[1])
    named = RECIPES.get(distribution)
    if recipe is None and named is not None and not named.requirement.startswith(f"{distribution}=="):
        raise UsageError(
            f"{text!r}: {distribution} is the word of a recipe, and a package of that name is another thing; give "
            f"{distribution!r} alone for {named.requirement}, or that package in another version"
        )
    given = f"{distribution}=={found[2]}"
    if recipe is None:
        return WantedEnvironment(distribution, found[2], given)
    return WantedEnvironment(distribution, found[2], given, recipe.beside, recipe.alone, recipe.driver)


def adapter_for(distribution: str, packages: Iterable[str] = ()) -> Adapter | None:
    """The adapter whose targets run a distribution, if there is one; of several, one that ``packages`` suffice for.

    Args:
        distribution: as pip calls it.
        packages: distributions that are installed beside it; if they suffice for none the first adapter is given.
    """
    own = [a for a in BUILT_IN if distribution in a.distributions]
    return next((a for a in own if not lacking(a, packages)), own[0] if own else None)


def companions(distribution: str, packages: Iterable[str] = ()) -> tuple[str, ...]:
    """What scripts of findings import beside a distribution: for a tool, also what runs the models that it makes."""
    packages = (distribution, *packages)
    tools = [a for a in TOOL_ADAPTERS if distribution in a.distributions and not lacking(a, packages)]
    runs = any(a.gives != "values" for a in tools) and distribution not in ONNXRUNTIME.distributions
    return (*COMPANIONS, RUNTIME) if runs else COMPANIONS


def add(
    wish: WantedEnvironment,
    *,
    others: Sequence[str] = (),
    python: str = sys.executable,
    name: str = "",
    source: PackageSource = INDEX,
    say: Say = lambda text: None,
) -> tuple[Environment, bool]:
    """Build an environment, unless it is there already.

    It counts once pip is done and a worker in it has imported the component; whatever ends the building before that
    leaves nothing that counts. A second builder of the same environment waits for the first.

    Args:
        wish: the component.
        others: further requirements, in pip's words.
        python: interpreter from which the environment is made: its path, or a version (``3.7``) that is looked for.
        name: of the environment; the usual one if empty.
        source: of the packages: an index or a folder.
        say: is told what goes on.

    Returns:
        The environment, and whether it was built now.

    Raises:
        UsageError: a wish that cannot be read or fulfilled; the message says what pip said.
    """
    name = name or environments.usual_name(wish.distribution, wish.version)
    if NAME.fullmatch(name) is None:
        raise UsageError(f"{name!r}: an environment's name has letters, digits and . _ + - only")
    own_numpy = any(_normal(o).startswith("numpy") for o in others)
    requirements = (wish.given, *wish.beside, *others, *(() if own_numpy else ("numpy",)))
    with _locked(name, say):
        if environments.record(name).is_file():
            found = environments.read(environments.record(name))
            same = (found.distribution, found.wanted) == (wish.distribution, wish.version)
            if not same or (others and _without_companions(found.requirements) != _without_companions(requirements)):
                raise UsageError(
                    f"environment {name} is there already, made of {' '.join(found.requirements)}; "
                    f"give the new one a --name, or run `irfuzz env remove {name}` first"
                )
            _add_driver(environments.folder() / name, wish, say)
            return _completed(found, wish, source, say), False
        return _made_somehow(name, wish, find_interpreter(python), requirements, source, say), True


def _made_somehow(
    name: str, wish: WantedEnvironment, python: str, requirements: tuple[str, ...], source: PackageSource, say: Say
) -> Environment:
    """Build an environment; with an older release of a package if the component needs that and the user named none."""
    asked = {_name_of(r) for r in requirements if r != "numpy"}
    while True:
        try:
            return _made(name, wish, python, requirements, source, say)
        except _NeedsOlder as error:
            if error.package in asked:
                raise
            asked.add(error.package)
            say(f"{wish.distribution} {wish.version} needs {error.requirement}; trying again with it")
            requirements = (*(r for r in requirements if r != error.package), error.requirement)


def _made(
    name: str, wish: WantedEnvironment, python: str, requirements: tuple[str, ...], source: PackageSource, say: Say
) -> Environment:
    """Build an environment from nothing; half of one, of somebody who was killed, goes first."""
    place = environments.folder() / name
    shutil.rmtree(place, ignore_errors=True)
    try:
        requirements = _build(place, python, wish, requirements, source, say)
        found = _examined(name, wish, place / "bin" / "python", requirements, say)
        environments.write(found)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    return found


def _completed(found: Environment, wish: WantedEnvironment, source: PackageSource, say: Say) -> Environment:
    """An environment with what scripts of findings import, which those that were built earlier lack."""
    interpreter = Path(found.interpreter)
    if not found.packages or not os.access(interpreter, os.X_OK):
        return found  # nobody knows what is there
    for more in _what_to_add(found.distribution, found.packages):
        asked = (*found.requirements, *more)
        if not more:
            return found  # all is there, or cannot be
        if (said := _pip(interpreter, wish, asked, source, say)) is None:
            found = _examined(found.name, wish, interpreter, asked, say)
            environments.write(found)
            return found
        say(_cannot_add(found.distribution, more, said))
    return found


def _what_to_add(distribution: str, there: Iterable[str]) -> list[tuple[str, ...]]:
    """Companions that are not there: all of them, then those that every component gets, then none."""
    there = {distribution, *there}
    layers = (companions(distribution, there), COMPANIONS, ())
    return list(dict.fromkeys(tuple(c for c in layer if c not in there) for layer in layers))


def _without_companions(requirements: Iterable[str]) -> list[str]:
    return [r for r in requirements if r not in (*COMPANIONS, RUNTIME)]


def _cannot_add(distribution: str, names: Iterable[str], said: str) -> str:
    return (
        f"pip cannot add {' and '.join(names)} to {distribution} ({told_by_pip(said)}); "
        "scripts of findings that import them cannot run there"
    )


def remove(name: str) -> None:
    """Delete an environment, also half of one.

    Args:
        name: of it. Its record goes first, so that it does not count from then on.

    Raises:
        UsageError: there is none of that name.
    """
    place = environments.folder() / name
    if NAME.fullmatch(name) is None or not place.is_dir():
        known = ", ".join(e.name for e in environments.installed()) or "none"
        raise UsageError(f"no environment {name!r}; there are: {known}")
    with _locked(name, lambda text: None):
        environments.record(name).unlink(missing_ok=True)  # from now on it does not count
        shutil.rmtree(place)


# ---- building -------------------------------------------------------------------------------


@contextlib.contextmanager
def _locked(name: str, say: Say) -> Generator[None]:
    """Hold the lock of an environment, which ends with the process that holds it."""
    folder = environments.folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / f"{name}.lock").open("a")
    except OSError as error:
        raise UsageError(
            f"{folder}: cannot be written: {error.strerror}; set {environments.HOME} to a folder that can"
        ) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another process is working on {name}; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(
    place: Path, python: str, wish: WantedEnvironment, requirements: tuple[str, ...], source: PackageSource, say: Say
) -> tuple[str, ...]:
    """Make a virtual environment and fill it; returns what pip was given in the end."""
    said = _run([python, "-I", "-m", "venv", str(place)], f"interpreter {python}")
    if said is not None:
        raise UsageError(f"{python} cannot make a virtual environment: {_last(said)}")
    own = {_name_of(r) for r in (wish.distribution, *requirements[1:])}
    wanted, *fewer = _what_to_add(wish.distribution, own)
    before = ""
    for more in (wanted, *fewer):
        said = _pip(place / "bin" / "python", wish, (*requirements, *more), source, say)
        if said is None:
            _add_alone(place, wish, source, say)
            if wish.distribution in node_packages.NPM_PACKAGES:
                say(f"npm install {wish.distribution}@{wish.version}")
                node_packages.install(place, wish.distribution, wish.version, _run)
            _add_driver(place, wish, say)
            if before:
                say(_cannot_add(wish.distribution, [c for c in wanted if c not in more], before))
            return (*requirements, *more, *wish.alone)
        before = said
        if source.wheels is None and _UNREACHABLE.search(said) and not _NO_COMPANION.search(said):
            break
    raise UsageError(_explain(before, requirements, source.wheels))


def _add_driver(place: Path, wish: WantedEnvironment, say: Say) -> None:
    """Install a Vulkan driver if a recipe wants one and it is not there yet.

    Raises:
        UsageError: it cannot be had.
    """
    if wish.driver and not (place / software_vulkan.FOLDER / software_vulkan.DESCRIPTION).is_file():
        say(f"npm pack {software_vulkan.PACKAGE}")
        software_vulkan.install(place, _run)


def _add_alone(place: Path, wish: WantedEnvironment, source: PackageSource, say: Say) -> None:
    """Install what a recipe wants without its needs.

    Raises:
        UsageError: pip cannot.
    """
    if not wish.alone:
        return
    said = _pip(place / "bin" / "python", wish, wish.alone, source, say, ("--no-deps",))
    if said is not None:
        raise UsageError(_explain(said, wish.alone, source.wheels))


def _pip(
    interpreter: Path,
    wish: WantedEnvironment,
    requirements: Sequence[str],
    source: PackageSource,
    say: Say,
    flags: Sequence[str] = (),
) -> str | None:
    """``None`` if pip could install everything, else all that it said."""
    if wish.distribution in node_packages.NPM_PACKAGES:
        requirements = (*requirements[1:], *node_packages.for_pip())
    say(f"pip install {' '.join(requirements)}")
    pip = [str(interpreter), "-I", "-m", "pip", "--disable-pip-version-check", "--no-input"]
    flags = ("--progress-bar", "off", *flags, *source.flags(wish.distribution))
    return _run([*pip, "install", *flags, "--", *requirements], "pip")


def _run(command: Sequence[str], what: str) -> str | None:
    """``None`` if a command went well, else everything that it said; it ends when this process does."""
    code, said = output_of(command, what)
    return None if code == 0 else said


def output_of(command: Sequence[str], what: str) -> tuple[int, str]:
    """Exit code of a command and everything that it said; it ends when this process does.

    Raises:
        UsageError: there is no such program; the message begins with ``what``.
    """
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PIP_USER")}
    if shutil.which(command[0]) is None:
        raise UsageError(f"{what}: {command[0]} is no program that can be run")
    process = subprocess.Popen(
        guarded(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env
    )
    try:
        said, _ = process.communicate()
    except BaseException:
        process.terminate()  # the guard ends what it has started, too
        process.communicate()
        raise
    return process.returncode, said.decode(errors="replace")


def _explain(said: str, requirements: Sequence[str], wheels: Path | None) -> str:
    """What pip said, in one line, and what to do about it."""
    told = told_by_pip(said)
    line = f"pip cannot install {' '.join(requirements)}: {told}"
    if wheels is not None:
        return f"{line}; {wheels} lacks a wheel for this Python: fill it with `pip download` where there is a network"
    if _UNREACHABLE.search(said):
        return (
            f"{line}; no package index that can be reached has it: without a network, run `pip download -d DIR "
            f"{shlex.join(requirements)}` where there is one, and add --wheels DIR here"
        )
    if "Could not find a version" in told:
        return f"{line}; see `pip index versions`, or name another interpreter with --python"
    return line


def told_by_pip(said: str) -> str:
    """The error that pip gave, in one line.

    Args:
        said: all that it wrote.

    Returns:
        That no version was found, if pip said so, else its last error, or its last line. Of more than 300 characters
        the middle is left out.
    """
    errors = [line.removeprefix("ERROR: ").strip() for line in said.splitlines() if line.startswith("ERROR: ")]
    told = next((e for e in errors if "Could not find a version" in e), errors[-1] if errors else _last(said))
    return told if len(told) <= 300 else f"{told[:140]} ... {told[-150:]}"  # the newest versions stand last


def _last(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it said nothing"


# ---- before it counts -----------------------------------------------------------------------


def _examined(
    name: str, wish: WantedEnvironment, interpreter: Path, requirements: tuple[str, ...], say: Say
) -> Environment:
    """Have a worker import the component, and the handler of its targets say what it is."""
    module = MODULES.get(wish.distribution, wish.distribution.replace("-", "_"))
    expected = adapter_for(wish.distribution, tuple(map(_name_of, requirements)))
    env = SINGLE_THREAD if expected is None else expected.env
    about = _ask(wish, interpreter, WORKERS / "import_probe.py", {"do": "import", "module": module}, [], env=env)
    packages = {_normal(n): v for n, v in about["packages"].items()}
    if about["lacking"]:
        say(f"its torchvision lacks operators for this torch: {', '.join(about['lacking'])}; what needs them fails")
    adapter = adapter_for(wish.distribution, packages)
    told: Mapping[str, Any] = {}
    if adapter is not None:
        message, blobs = adapter.describe()
        told = _ask(wish, interpreter, adapter.handler, message, blobs, adapter.preload, adapter.env)
    return Environment(
        name=name,
        distribution=wish.distribution,
        wanted=wish.version,
        version=packages.get(wish.distribution, wish.version),
        component=adapter.component if adapter is not None else "",
        interpreter=str(interpreter),
        python=about["python"],
        numpy=packages.get("numpy", ""),
        opset=int(told.get("opset", 0)),
        ir=int(told.get("ir", 0)),
        requirements=requirements,
        packages=dict(sorted(packages.items())),
    )


def _ask(
    wish: WantedEnvironment,
    interpreter: Path,
    handler: Path,
    message: Mapping[str, Any],
    blobs: Sequence[Any],
    preload: tuple[str, ...] = (),
    env: Mapping[str, str] = SINGLE_THREAD,
) -> Mapping[str, Any]:
    who = f"{wish.distribution} {wish.version} is installed but cannot be used"
    spec = WorkerSpec(wish.distribution, handler, preload, str(interpreter), env)
    try:
        with Worker(spec, Limits(start_seconds=IMPORT_SECONDS)) as worker:
            reply = worker.call(message, blobs, seconds=IMPORT_SECONDS)
    except UsageError as error:
        raise _unusable(who, str(error)) from None
    if reply.exit != "ok":
        told = f"{reply.error['type']}: {reply.error['message']}" if reply.error else reply.detail or reply.exit
        raise _unusable(who, told, reply.log)
    return reply.response


def _unusable(who: str, told: str, log: str = "") -> UsageError:
    """What an import said, in one line, and what is known about it."""
    line = f"{who}: {' '.join(told.split())[:300]}"
    for pattern, package, requirement in _OLDER:
        if pattern.search(told) or pattern.search(log):
            return _NeedsOlder(f"{line}; it was built for an older {package}", package, requirement)
    missing = re.search(r"No module named '(\w+)", told)
    if missing is not None:
        return UsageError(f"{line}; add --with {missing[1]}, or another package that brings it")
    return UsageError(line)


def _name_of(requirement: str) -> str:
    """The distribution of a requirement, as PEP 503 compares it."""
    return re.split(r"[^a-z0-9-]", _normal(requirement))[0]


def _normal(distribution: str) -> str:
    """A distribution's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", distribution).lower()
