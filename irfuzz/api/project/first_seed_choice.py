"""Chooses a project's first seeds: small shipped models, and calls of single operators, that its target takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import onnx

from irfuzz.campaign.corpus.seed_folder_maintenance import list_seeds
from irfuzz.choices import Choices
from irfuzz.embed.single_call_model import OPSET, single_call
from irfuzz.errors import InvalidProgram, Unsupported, UsageError
from irfuzz.execute.run_types import Exit
from irfuzz.execute.runner import Runner
from irfuzz.frontends.onnx_file import load_seed
from irfuzz.generate.input_values import make_inputs
from irfuzz.ir.program import Program
from irfuzz.ir.value import CONSTANT
from irfuzz.isolate import Limits
from irfuzz.spec import load_specs
from irfuzz.spec.operator_spec import OpSpec

LARGEST = 100_000
"""Bytes of a shipped model that is tried: it is committed, and mutants of it run often."""

MODELS = 6
"""Shipped models that are enough."""

FEW = 3
"""If a target takes fewer of them than that, calls of single operators join them."""

CALLS = 16
"""Calls that are enough."""

DRAWS, TRIALS = 16, 2
"""Calls that are drawn of an operator, and that are tried: first those of float32, which converters begin with."""

LIMITS = Limits(seconds=10.0)
"""Of one run."""


@dataclass(frozen=True, slots=True)
class FirstSeeds:
    """What a project begins with.

    Attributes:
        models: ONNX bytes by file name.
        tried: how many models and calls were run on the target.
        refused: what it said of the last one that it did not take; empty if it took all.
    """

    models: dict[str, bytes]
    tried: int = 0
    refused: str = ""


def choose_first_seeds(folder: Path, target: str | None) -> FirstSeeds:
    """Find seeds that a target runs, the smallest ones first.

    A call of each operator is tried, then the shipped models that have only operators of which a call ran.

    Args:
        folder: of shipped models, with their index.
        target: name of it; ``None`` takes the smallest models without a trial.

    Raises:
        UsageError: the target cannot be used, or takes none of them.
    """
    listed = sorted((s for s in list_seeds(folder) if 0 < s.bytes <= LARGEST), key=lambda seed: seed.bytes)
    shipped = {folder / f"{seed.name}.onnx": {*seed.operators} for seed in listed}
    if target is None:
        return FirstSeeds({path.name: path.read_bytes() for path in [*shipped][:MODELS]})
    trials = _Trials()
    with Runner([target], LIMITS) as runner:
        calls: dict[str, bytes] = {}
        for spec in load_specs().overlaid(OPSET):
            taken = next((call for call in _calls(spec) if trials.runs(runner, spec.op, call)), None)
            if taken is not None:
                calls[spec.op] = taken.to_bytes()
        models: dict[str, bytes] = {}
        for path, operators in shipped.items():
            fits = len(models) < MODELS and operators <= {*calls, CONSTANT}
            if fits and trials.runs(runner, path.name, load_seed(path)):
                models[path.name] = path.read_bytes()
    if len(models) < FEW:
        models |= {f"one-{op}.onnx": data for op, data in [*calls.items()][:CALLS]}
    if not models:
        raise UsageError(
            f"target: {target}: runs none of {trials.count} small models; of the last it says: {trials.refused}"
        )
    return FirstSeeds(models, trials.count, trials.refused)


@dataclass(slots=True)
class _Trials:
    """How many programs were run, and what was said of the last one that did not run."""

    count: int = 0
    refused: str = ""

    def runs(self, runner: Runner, name: str, program: Program) -> bool:
        """Whether the only target of a runner runs a program."""
        self.count += 1
        try:
            (result,) = runner.run(program, make_inputs(program, 0))
        except (InvalidProgram, Unsupported) as error:
            self.refused = f"{name}: {error}"
            return False
        if result.exit is not Exit.OK:
            self.refused = f"{name}: {result.exit}: {result.error}"
        return result.exit is Exit.OK


def _calls(spec: OpSpec) -> Iterator[Program]:
    """Calls of an operator that are tried."""
    found: list[onnx.ModelProto] = []
    for number in range(DRAWS):
        call = single_call(spec, OPSET, Choices.from_seed(f"init:{spec.op}:{number}"), 0, plain=True)
        if call is not None and call.graph.input:
            found.append(call)
    found.sort(key=lambda call: call.graph.input[0].type.tensor_type.elem_type != onnx.TensorProto.FLOAT)
    yield from map(Program.from_proto, found[:TRIALS])
