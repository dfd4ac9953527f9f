"""Puts a Vulkan driver that needs no GPU, and a loader, into an environment: SwiftShader, as a package of npm holds it.

The package is made for a browser; of its 65 MB the 15 of ``swiftshader.tar.br`` are taken, which node decompresses.
"""

from __future__ import annotations

import json
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from irfuzz.errors import UsageError
from irfuzz.execute.versions.node_packages import BRINGS_NODE, node_and_npm

PACKAGE = "@sparticuz/chromium@147.0.0"
"""What was tried."""

FOLDER = Path("share", "vulkan")
"""The folder of the driver below that of an environment; workers look for it there (``workers/tools/webgpu.py``)."""

DESCRIPTION = "swiftshader.json"
"""Tells the loader of the driver (Vulkan loader interface, "ICD manifest file format")."""

LOADER, DRIVER = "libvulkan.so.1", "libvk_swiftshader.so"

_INNER = "package/bin/swiftshader.tar.br"
_DECOMPRESS = (
    "const fs = require('fs'); const [, source, made] = process.argv;"
    "fs.writeFileSync(made, require('zlib').brotliDecompressSync(fs.readFileSync(source)))"
)

Run = Callable[[Sequence[str], str], "str | None"]


def install(place: Path, run: Run) -> None:
    """Get the package by npm and take the driver out of it.

    Args:
        place: the folder of the environment, which pip has filled.
        run: runs a command, and gives ``None`` if it went well, else what it said.

    Raises:
        UsageError: there is no npm, it cannot get the package, or the package holds something else.
    """
    found = node_and_npm(place)
    if found is None:
        raise UsageError(f"a Vulkan driver comes by npm, and there is none; add --with {BRINGS_NODE}")
    node, npm = found
    with tempfile.TemporaryDirectory(dir=place) as folder:
        said = run([*npm, "pack", PACKAGE, "--loglevel", "error", "--pack-destination", folder], "npm")
        archives = sorted(Path(folder).glob("*.tgz"))
        if said is not None or len(archives) != 1:
            last = (said or "it wrote no archive").strip().splitlines()[-1]
            raise UsageError(f"npm cannot get {PACKAGE}, which holds a Vulkan driver: {last[:300]}")
        unpack(archives[0], place / FOLDER, node, run)


def unpack(archive: Path, folder: Path, node: str, run: Run) -> None:
    """Put driver, loader and what describes the driver into a folder.

    Args:
        archive: the package, as ``npm pack`` writes it.
        folder: is made.
        node: the program.
        run: as for ``install``.

    Raises:
        UsageError: the archive lacks them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        packed, plain = Path(scratch, "swiftshader.tar.br"), Path(scratch, "swiftshader.tar")
        try:
            with tarfile.open(archive) as outer, _member(outer, _INNER) as source:
                packed.write_bytes(source.read())
            if (said := run([node, "-e", _DECOMPRESS, str(packed), str(plain)], "node")) is not None:
                raise UsageError(f"{archive.name}: {_INNER} cannot be decompressed: {said.strip()[-300:]}")
            with tarfile.open(plain) as inner:
                for name in (LOADER, DRIVER):
                    with _member(inner, name) as source:
                        (folder / name).write_bytes(source.read())
        except (KeyError, tarfile.TarError) as error:
            raise UsageError(f"{archive.name}: expected {_INNER} with {LOADER} and {DRIVER}: {error}") from None
    told = {"file_format_version": "1.0.0", "ICD": {"library_path": f"./{DRIVER}", "api_version": "1.1.0"}}
    (folder / DESCRIPTION).write_text(json.dumps(told))


def _member(archive: tarfile.TarFile, name: str) -> tarfile.ExFileObject:
    """A plain file of an archive.

    Raises:
        KeyError: there is none of that name.
    """
    info = next((m for m in archive.getmembers() if m.isfile() and m.name.removeprefix("./") == name), None)
    found = archive.extractfile(info) if info is not None else None
    if not isinstance(found, tarfile.ExFileObject):
        raise KeyError(f"no file {name}")
    return found
