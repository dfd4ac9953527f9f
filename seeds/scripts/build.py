"""Builds the seeds that a command line names: their ONNX files, data and entries of the index."""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx

from irfuzz.export.module_file_writing import npz_of

from . import index
from .evaluator import reference
from .seed import Seed

BUILDERS: dict[str, str] = {
    "lenet5": "lenet5:build",
    "resnet": "resnet:build",
    "lstm": "lstm:build",
    "transformer": "transformer:build",
    "qcnn": "qcnn:build",
    "alexnet": "convnets:alexnet",
    "vgg16": "convnets:vgg16",
    "densenet121": "convnets:densenet121",
    "resnet20": "resnets:resnet20",
    "resnet50": "resnets:resnet50",
    "mobilenetv2": "mobile:mobilenetv2",
    "shufflenetv2": "mobile:shufflenetv2",
    "efficientnet": "mobile:efficientnet",
    "unet": "pictures:unet",
    "style": "pictures:style",
    "superresolution": "pictures:superresolution",
    "vae": "pictures:vae",
    "light_bvlc_alexnet": "light:alexnet",
    "light_densenet121": "light:densenet121",
    "light_inception_v1": "light:inception_v1",
    "light_inception_v2": "light:inception_v2",
    "light_resnet50": "light:resnet50",
    "light_shufflenet": "light:shufflenet",
    "light_squeezenet": "light:squeezenet",
    "light_vgg19": "light:vgg19",
    "light_zfnet512": "light:zfnet512",
    "decoder": "attention:decoder",
    "gpt": "attention:gpt",
    "vit": "attention:vit",
    "mixer": "attention:mixer",
    "convnext": "attention:convnext",
    "tcn": "temporal:tcn",
    "film": "temporal:film",
    "diabetes": "tables:diabetes",
    "recommender": "tables:recommender",
    "detector": "detection:detector",
    "regions": "detection:regions",
    "early_exit": "control:early_exit",
    "greedy": "control:greedy",
    "kalman": "control:kalman",
    "crf": "control:crf",
    "bags": "control:bags",
    "audio": "signals:audio",
    "text": "signals:text",
    "graph_network": "signals:graph_network",
    "quantized_mlp": "signals:quantized_mlp",
    "inceptionv3": "keras_images:inceptionv3",
    "inceptionresnetv2": "keras_images:inceptionresnetv2",
    "xception": "keras_images:xception",
    "mobilenetv3": "keras_images:mobilenetv3",
    "simplernn": "keras_steps:simplernn",
    "gru": "keras_steps:gru",
    "bilstm": "keras_steps:bilstm",
}
"""Every seed that the scripts build, in the order of the index: a module of this package and its function.

Modules are imported only for the seeds that are wanted, as their frameworks are large.
"""

MAX_BYTES = 300_000
"""No seed is larger: small models mutate and run fast."""


def make(name: str) -> Seed:
    """Build one seed in memory."""
    module, function = BUILDERS[name].split(":")
    seed = getattr(importlib.import_module(f".{module}", __package__), function)()
    if seed.name != name:
        raise ValueError(f"{BUILDERS[name]} builds {seed.name!r}, expected {name!r}")
    return seed


def quality(seed: Seed) -> dict[str, float]:
    """How right the onnx reference evaluator, running the seed's model, is on its labelled samples.

    Returns:
        ``accuracy`` (share of samples whose largest score is at the label) for classes, ``r2`` (coefficient of
        determination) for real targets, nothing without labels.
    """
    if seed.labels is None:
        return {}
    session = reference(seed.model)
    count = len(seed.labels)
    answers = [session.run(None, {k: a[i : i + 1] for k, a in seed.samples.items()})[0] for i in range(count)]
    if seed.labels.dtype.kind == "f":
        targets = seed.labels.astype(np.float64)
        wrong = sum((float(np.ravel(a)[0]) - t) ** 2 for a, t in zip(answers, targets, strict=True))
        return {"r2": round(1 - wrong / float(((targets - targets.mean()) ** 2).sum()), 4)}
    right = sum(int(np.argmax(a) == label) for a, label in zip(answers, seed.labels, strict=True))
    return {"accuracy": round(right / count, 4)}


def build(names: Sequence[str], folder: Path) -> None:
    """Build seeds into a folder and write their entries into its index; other entries stay.

    Raises:
        ValueError: a model is larger than ``MAX_BYTES``.
    """
    path = folder / "index.toml"
    for name in names:
        seed = make(name)
        onnx.checker.check_model(seed.model, full_check=True)
        content = seed.model.SerializeToString(deterministic=True)
        if len(content) > MAX_BYTES:
            raise ValueError(f"{name}: {len(content)} bytes, more than {MAX_BYTES}")
        model, data = folder / f"{name}.onnx", folder / f"{name}.inputs.npz"
        model.write_bytes(content)
        labels = {} if seed.labels is None else {"labels": seed.labels}
        data.write_bytes(npz_of({**labels, **seed.samples}, compressed=True))
        versions = {package: importlib.metadata.version(package) for package in seed.packages}
        script = f"seeds/scripts/{BUILDERS[name].split(':')[0]}.py"
        described = index.entry(seed, model, data, script=script, quality=quality(seed), versions=versions)
        # Read and written at once: scripts may be run side by side.
        entries = {**index.read(path), name: described}
        index.write(path, [entries[each] for each in BUILDERS if each in entries])
        right = "".join(f", {k} {described['data'][k]}" for k in ("accuracy", "r2") if k in described["data"])
        print(f"{name}: {len(seed.model.graph.node)} nodes, {len(content)} bytes{right}", flush=True)


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
