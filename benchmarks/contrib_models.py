"""What the commands make of encoders that onnxruntime's own tools have optimised and quantised.

    python -m benchmarks.contrib_models [--folder DIR] [--mutants 200] [--json FILE]

A small BERT-like encoder with random weights is exported by ``torch.onnx``; ``optimised.onnx`` is what
``onnxruntime.transformers.optimizer`` makes of it, ``quantised.onnx`` what onnxruntime saves of its dynamically
quantised form. Both have at least three operators of com.microsoft each. The script counts how many mutants keep them
and run, and how ``check``, ``equiv`` and ``reduce`` end.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx

from irfuzz.api.unstated_input_planning import planned
from irfuzz.execute.run_types import Exit
from irfuzz.execute.runner import Runner
from irfuzz.execute.target_table import resolve
from irfuzz.frontends.onnx_file import load_seed
from irfuzz.generate.input_values import make_inputs
from irfuzz.mutate.traced_mutant_generation import mutate_many

DOMAIN = "com.microsoft"
LEVELS = "onnxruntime:disabled,onnxruntime:all"

MAKE = """
import sys
from pathlib import Path

import onnxruntime
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.transformers import optimizer
from torch import nn

SIZE, HEADS, LAYERS, WORDS, LENGTH = 32, 2, 2, 100, 64


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(SIZE, SIZE) for _ in range(4))
        self.norm = nn.LayerNorm(SIZE, eps=1e-12)

    def heads(self, x):
        return x.view(x.shape[0], x.shape[1], HEADS, SIZE // HEADS).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        q, k, v = (self.heads(part(x)) for part in (self.query, self.key, self.value))
        scores = torch.softmax(torch.matmul(q, k.transpose(-1, -2)) / (SIZE // HEADS) ** 0.5 + mask, -1)
        joined = torch.matmul(scores, v).permute(0, 2, 1, 3).contiguous()
        return self.norm(self.out(joined.view(joined.shape[0], joined.shape[1], SIZE)) + x)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()
        self.up, self.down = nn.Linear(SIZE, 4 * SIZE), nn.Linear(4 * SIZE, SIZE)
        self.norm = nn.LayerNorm(SIZE, eps=1e-12)

    def forward(self, x, mask):
        x = self.attention(x, mask)
        return self.norm(self.down(nn.functional.gelu(self.up(x))) + x)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places, self.kinds = (nn.Embedding(n, SIZE) for n in (WORDS, LENGTH, 2))
        self.norm = nn.LayerNorm(SIZE, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.register_buffer("position_ids", torch.arange(LENGTH).unsqueeze(0))

    def forward(self, input_ids, attention_mask, token_type_ids):
        places = self.places(self.position_ids[:, : input_ids.shape[1]])
        x = self.norm(self.words(input_ids) + self.kinds(token_type_ids) + places)
        mask = (1.0 - attention_mask[:, None, None, :].to(torch.float32)) * -10000.0
        for layer in self.layers:
            x = layer(x, mask)
        return x


torch.manual_seed(0)
folder = Path(sys.argv[1])
ids = torch.randint(0, WORDS, (2, 8))
names = ("input_ids", "attention_mask", "token_type_ids")
plain = str(folder / "plain.onnx")
torch.onnx.export(
    Encoder().eval(), (ids, torch.ones_like(ids), torch.zeros_like(ids)), plain, input_names=list(names),
    output_names=["last_hidden_state"], dynamic_axes={n: {0: "batch", 1: "sequence"} for n in names},
    opset_version=17, dynamo=False,
)
made = optimizer.optimize_model(plain, model_type="bert", num_heads=HEADS, hidden_size=SIZE, opt_level=0)
made.save_model_to_file(str(folder / "optimised.onnx"))
quantize_dynamic(plain, str(folder / "dynamic.onnx"), weight_type=QuantType.QInt8)
options = onnxruntime.SessionOptions()
options.optimized_model_filepath = str(folder / "quantised.onnx")
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
onnxruntime.InferenceSession(str(folder / "dynamic.onnx"), options, providers=["CPUExecutionProvider"])
"""

INTERESTING = """
import sys, onnx
model = onnx.load(sys.argv[-1])
sys.exit(not any(n.domain == "com.microsoft" and n.op_type == sys.argv[1] for n in model.graph.node))
"""


def make(folder: Path) -> list[Path]:
    """Write the models, each with a process of its own for the frameworks."""
    done = subprocess.run([sys.executable, "-c", MAKE, str(folder)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr.strip().splitlines()[-1])
    return [folder / "optimised.onnx", folder / "quantised.onnx"]


def operators(path: Path) -> Counter[str]:
    """Operators of the domain in a model's main graph."""
    return Counter(n.op_type for n in onnx.load(path).graph.node if n.domain == DOMAIN)


def mutants(path: Path, count: int) -> dict[str, Any]:
    """How many mutants keep all nodes of the domain, and how many run on onnxruntime as they are."""
    program = planned({path: load_seed(path)})[path]
    wanted = operators(path)
    kept = ran = 0
    whys: Counter[str] = Counter()
    started = time.perf_counter()
    with Runner(resolve(["onnxruntime:disabled"])) as runner:
        made = list(mutate_many([(path.name, program)], seed=0, n=count))
        for mutant in made:
            found = Counter(n.op_type for n in mutant.program.model.graph.all_nodes() if n.domain == DOMAIN)
            kept += all(found[op] >= number for op, number in wanted.items())
            (result,) = runner.run(mutant.program, make_inputs(mutant.program, 0))
            ran += result.exit is Exit.OK
            if result.exit is not Exit.OK:
                whys[result.error[:120]] += 1
    seconds = round(time.perf_counter() - started, 1)
    return {"mutants": len(made), "keep": kept, "run": ran, "seconds": seconds, "refusals": dict(whys.most_common(5))}


def command(*words: str, **env: str) -> dict[str, Any]:
    """How a command ends, and the first line that it prints."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "irfuzz", *words], capture_output=True, text=True, check=False, env={**os.environ, **env}
    )
    said = (done.stdout or done.stderr).strip().splitlines()
    return {
        "exit": done.returncode,
        "seconds": round(time.perf_counter() - started, 1),
        "says": said[0] if said else "",
    }


def measure(path: Path, folder: Path, count: int) -> dict[str, Any]:
    """All figures of one model."""
    found = operators(path)
    script = folder / "interesting.py"
    script.write_text(INTERESTING)
    rare = min(found, key=lambda op: (found[op], op))
    small = folder / f"{path.stem}.small.onnx"
    row: dict[str, Any] = {"model": path.name, "operators": dict(sorted(found.items()))}
    row["mutate"] = mutants(path, count)
    row["check"] = command("check", str(path), "--targets", f"{LEVELS},torch:eager,reference")
    row["equiv"] = command("equiv", str(path), "--targets", LEVELS, "--forms", "20")
    check = f"{sys.executable} {script} {rare}"
    row["reduce"] = command("reduce", str(path), "--check", check, "-o", str(small), "--time", "60s")
    row["reduced to"] = dict(operators(small)) if small.exists() else {}
    return row


def main(words: Sequence[str] | None = None) -> None:
    """Measure both models and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="Where the models go; a temporary folder where omitted.")
    parser.add_argument("--mutants", type=int, default=200, help="Of each model.")
    parser.add_argument("--json", type=Path, help="Write the rows.")
    args = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        rows = [measure(path, folder, args.mutants) for path in make(folder)]
    for row in rows:
        print(json.dumps(row, indent=1))
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
