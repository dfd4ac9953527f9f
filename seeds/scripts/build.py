"""Command line: names of seeds in, their ONNX files, data and index entries out."""

from __future__ import annotations

import argparse
import importlib.metadata
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
import onnx.version_converter
from onnx.reference import ReferenceEvaluator

from . import index, lenet5, lstm, qcnn, resnet, transformer
from .seed import Seed

BUILDERS: dict[str, Callable[[], Seed]] = {
    "lenet5": lenet5.build,
    "resnet": resnet.build,
    "lstm": lstm.build,
    "transformer": transformer.build,
    "qcnn": qcnn.build,
}
"""Every seed that the scripts build, in the order of the index."""

MAX_BYTES = 300_000
"""No seed is larger: small models mutate and run fast."""

_PACKAGES = ("numpy", "onnx", "scikit-learn", "torch")


def reference(model: onnx.ModelProto) -> ReferenceEvaluator:
    """The onnx reference evaluator for a model.

    onnx 1.23 implements DequantizeLinear from opset 19 on only, so models that have it are converted first; for 8-bit
    integers and float32 scales the versions mean the same.
    """
    if any(node.op_type == "DequantizeLinear" for node in model.graph.node):
        model = onnx.version_converter.convert_version(model, 19)
    return ReferenceEvaluator(model)


def accuracy(seed: Seed) -> float:
    """The share of samples that the onnx reference evaluator, running the seed's model, classifies as labelled."""
    session = reference(seed.model)
    right = 0
    for i, label in enumerate(seed.labels):
        (scores,) = session.run(None, {name: array[i : i + 1] for name, array in seed.samples.items()})
        right += int(np.argmax(scores) == label)
    return round(right / len(seed.labels), 4)


def build(names: Sequence[str], folder: Path) -> None:
    """Build seeds into a folder and write their entries into its index; other entries stay.

    Raises:
        ValueError: a model is larger than ``MAX_BYTES``.
    """
    path = folder / "index.toml"
    entries = index.read(path)
    versions = {package: importlib.metadata.version(package) for package in _PACKAGES}
    for name in names:
        seed = BUILDERS[name]()
        onnx.checker.check_model(seed.model, full_check=True)
        content = seed.model.SerializeToString(deterministic=True)
        if len(content) > MAX_BYTES:
            raise ValueError(f"{name}: {len(content)} bytes, more than {MAX_BYTES}")
        model, data = folder / f"{name}.onnx", folder / f"{name}.inputs.npz"
        model.write_bytes(content)
        np.savez_compressed(data, allow_pickle=False, labels=seed.labels, **seed.samples)
        entries[name] = index.entry(seed, model, data, accuracy(seed), versions)
        right = entries[name]["data"]["accuracy"]
        print(f"{name}: {len(seed.model.graph.node)} nodes, {len(content)} bytes, {right:.2%} right")
    ordered = [entries[name] for name in BUILDERS if name in entries]
    index.write(path, ordered)


def differing(names: Sequence[str], folder: Path) -> list[str]:
    """Build seeds into a temporary folder and name the files whose bytes are not those of ``folder``."""
    with tempfile.TemporaryDirectory() as temporary:
        build(names, Path(temporary))
        files = [f"{name}{suffix}" for name in names for suffix in (".onnx", ".inputs.npz")]
        return [f for f in files if (Path(temporary) / f).read_bytes() != (folder / f).read_bytes()]


def main() -> int:
    """Run the command line; the exit status is 1 where ``--check`` found a difference."""
    parser = argparse.ArgumentParser(prog="python -m seeds.scripts.build", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BUILDERS)} (default: all)")
    parser.add_argument("-o", "--out", type=Path, default=Path(__file__).parents[1], help="folder (default: seeds/)")
    parser.add_argument("--check", action="store_true", help="change nothing, say which files would differ")
    args = parser.parse_args()
    unknown = [name for name in args.names if name not in BUILDERS]
    if unknown:
        parser.error(f"unknown seed {unknown[0]!r}: expected one of {', '.join(BUILDERS)}")
    names = args.names or list(BUILDERS)
    if args.check:
        different = differing(names, args.out)
        print("\n".join(f"differs: {name}" for name in different) or "all files are byte-identical")
        return int(bool(different))
    args.out.mkdir(parents=True, exist_ok=True)
    build(names, args.out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
