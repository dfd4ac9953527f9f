"""``irfuzz.analyze`` reports which operators of a model may compute NaN, an infinity or crash."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from irfuzz.analyze import warning_examination
from irfuzz.analyze.initial_ranges import Ranges
from irfuzz.analyze.warning_examination import ExaminedWarning, WarningReport
from irfuzz.api.input_settings_merging import ranges_said
from irfuzz.api.loaded_model import Inputs, Model, loaded, program_of
from irfuzz.api.progress_update import Observer, Update, unobserved
from irfuzz.ir.program import Program
from irfuzz.report.command_reports import numeric_analysis


@dataclass(frozen=True, slots=True)
class AnalysisReport:
    """What a static analysis says of a model.

    Attributes:
        model: its name.
        report: ranges of all values, and the warnings.
        partial: whether the search for witnesses was interrupted.
        program: the model itself, for its page; ``None`` if that has no graph.
    """

    model: str
    report: WarningReport
    partial: bool = False
    program: Program | None = field(default=None, repr=False, compare=False)

    @property
    def warnings(self) -> tuple[ExaminedWarning, ...]:
        """What may go wrong: each warning with ranges that make it safe and, if one was found, its witness."""
        return self.report.judged

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON-able data, as ``irfuzz analyze --json`` prints it."""
        return numeric_analysis.as_json(self.report, self.model, partial=self.partial)

    def to_html(self, title: str = "") -> str:
        """A page that needs nothing else."""
        return numeric_analysis.as_html(self.report, title or self.model, self.program)

    def __str__(self) -> str:
        """The report for people, as ``irfuzz analyze`` prints it."""
        return numeric_analysis.as_text(self.report, self.model, partial=self.partial)

    def write_witnesses(self, folder: str | Path) -> list[Path]:
        """Write a folder for each confirmed warning, with the model, its inputs and ``repro.py``.

        Raises:
            UsageError: the folder cannot be written.
        """
        return numeric_analysis.write_witnesses(self.report, Path(folder))


def analyze(
    model: Model,
    *,
    inputs: Inputs | None = None,
    architecture: bool = False,
    domain: str = "irfuzz",
    witness_seconds: float = 3.0,
    seed: int = 0,
    progress: Observer[AnalysisReport] = unobserved,
) -> AnalysisReport:
    """Find operators of a model that may compute NaN, an infinity or crash, without training or running it.

    Example:
        >>> import irfuzz, onnx.parser
        >>> model = onnx.parser.parse_model(
        ...     '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Log(x) }'
        ... )
        >>> report = irfuzz.analyze(model, inputs=irfuzz.InputSpec(ranges={"x": (0, 1)}), witness_seconds=0)
        >>> [warning.warning.op for warning in report.warnings]
        ['Log']
        >>> safe = irfuzz.analyze(model, inputs=irfuzz.InputSpec(ranges={"x": (0.5, 1)}))
        >>> safe.warnings
        ()

    Args:
        model: a path, bytes, ``ModelProto``, ``onnx_ir.Model``, onnx-graphsurgeon graph or ``Program``.
        inputs: an ``InputSpec`` with ranges of inputs and initializers, or samples, of which the smallest and largest
            elements are taken. An input of which nothing is said may be every finite number of its type.
        architecture: weights may still be trained, so that only the range that they start from is known. Give a path of
            a Keras or TensorFlow model: it is converted without folding or merging its variables.
        domain: the abstraction: ``irfuzz``, ``debar``, ``intervals``, ``smashing`` or ``expansion``.
        witness_seconds: for how long inputs that trigger it are looked for, for each warning; 0: not at all.
        seed: of that search.
        progress: gets an ``Update`` before each search.

    Returns:
        The warnings, confirmed ones first.

    Raises:
        UsageError: the model cannot be read, an argument contradicts it, or no runtime is installed to find witnesses.
        InvalidProgram: the model breaks a rule of ONNX.
    """
    given = loaded(model, inputs, weights=True, architecture=architecture, observer=progress)
    ranges = ranges_said(given.said, given.path, given.program)
    progress(Update("analyzing", unit="warnings"))

    def told(report: WarningReport) -> None:
        confirmed = sum(j.witness is not None for j in report.judged)
        known = AnalysisReport(given.name, report, partial=True)
        note = f"{confirmed} confirmed"
        progress(Update("analyzing", report.searches, len(report.judged), "warnings", note, so_far=lambda: known))

    program = program_of(given, plan=False)
    found = warning_examination.judge(
        program,
        Ranges(ranges, architecture),
        domain=domain,
        witness_seconds=witness_seconds,
        seed=seed,
        progress=told,
    )
    return AnalysisReport(given.name, found, program=program)
