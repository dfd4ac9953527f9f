"""``irfuzz.judge`` reports which of the targets are wrong that ran a model on the same inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from irfuzz.errors import UsageError
from irfuzz.execute.run_types import RunResult, Value
from irfuzz.execute.runner import Runner
from irfuzz.findings.witness_distrust import wrong_here
from irfuzz.mutate.traced_mutant_generation import Model, load
from irfuzz.oracle import MeasuringJudge
from irfuzz.oracle import judge as oracle
from irfuzz.oracle.verdict import Verdict


def judge(
    model: Model,
    inputs: Mapping[str, Value],
    results: Sequence[RunResult],
    *,
    runner: Runner | None = None,
    expected_invalid: bool = False,
) -> list[Verdict]:
    """Decide which targets are wrong about one model and one set of inputs.

    Example:
        >>> import irfuzz, numpy, onnx.parser
        >>> model = onnx.parser.parse_model(
        ...     '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Exp(x) }'
        ... )
        >>> inputs = {"x": numpy.array([0.5, -2], numpy.float32)}
        >>> with irfuzz.Runner(["onnxruntime:all", "reference"]) as runner:
        ...     results = runner.run(irfuzz.load(model), inputs)
        ...     irfuzz.judge(model, inputs, results, runner=runner)
        []

    Args:
        model: what was run, in any form that ``irfuzz.mutate`` takes.
        inputs: arrays by name of the model's inputs.
        results: one for each target, in any order, as ``Runner.run`` gives them.
        runner: runs the model again, with moved inputs and in float64, to know what rounding explains; asked only if
            outputs differ by more than a cheap floor. Without it the spread of the targets decides.
        expected_invalid: the model breaks a rule of ONNX on purpose; rejections are then right.

    Returns:
        At most one verdict for a symptom and a component's fault, findings before suspects; none if all agree.

    Raises:
        UsageError: the model cannot be read, or there are no results.
        InvalidProgram: the model breaks a rule of ONNX.
    """
    if not results:
        raise UsageError("results: expected those of at least one target, got none")
    program = load(model)
    if runner is None:
        return oracle(program, inputs, results, expected_invalid=expected_invalid, distrust=wrong_here)
    return MeasuringJudge(runner, wrong_here).judge(program, inputs, results, invalid=expected_invalid)
