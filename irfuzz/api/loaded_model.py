"""Makes a ``LoadedModel``, which every call takes, of a model in any form and what a caller says of its inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from irfuzz.api.input_settings_merging import InputSettings, RequestedInputs, said_of
from irfuzz.api.npz_sample_reading import check_sample, check_sizes
from irfuzz.api.progress_update import Observer, Update, unobserved
from irfuzz.api.unstated_input_planning import planned
from irfuzz.errors import UsageError
from irfuzz.frontends.onnx_file import load_seed
from irfuzz.generate.graph_inputs.input_annotation import annotated
from irfuzz.generate.graph_inputs.user_input_claims import Claim, Claims, refuse_unknown, resolve
from irfuzz.generate.input_spec import InputSpec
from irfuzz.ir.program import Program
from irfuzz.mutate.traced_mutant_generation import Model as AnyModel
from irfuzz.mutate.traced_mutant_generation import load

if TYPE_CHECKING:
    from irfuzz.execute.run_types import Value

Inputs: TypeAlias = "InputSpec | Mapping[str, Value] | Sequence[Mapping[str, Value]]"
"""What a caller says of a model's inputs: an ``InputSpec``, one sample (arrays by input name), or several."""


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model that is read already.

    Attributes:
        name: what reports call it.
        program: as it was read; nobody edits it.
        said: of its inputs, in agreement with it.
        path: its file; ``None`` if it has none. An ``index.toml`` beside it describes its inputs, too.
    """

    name: str
    program: Program
    said: InputSettings = field(default_factory=InputSettings)
    path: Path | None = None

    @property
    def key(self) -> Path | str:
        """The file, or the name of a model without one."""
        return self.name if self.path is None else self.path


Model: TypeAlias = "LoadedModel | AnyModel"
"""What calls take: a path, bytes, a ``ModelProto``, an ``onnx_ir.Model``, a ``Program``, ..."""


def loaded(
    model: Model,
    inputs: Inputs | None = None,
    *,
    weights: bool = False,
    architecture: bool = False,
    layers: bool = False,
    observer: Observer = unobserved,
) -> LoadedModel:
    """Read a model and hold what is said of its inputs against it.

    Args:
        model: in any form; of a path, the ``irfuzz.toml`` above it is read, too.
        inputs: what the caller says; it wins over that file.
        weights: whether ranges may be those of initializers.
        architecture: see ``load_seed``.
        layers: a Keras model becomes a graph of its layers, which Keras targets run as they are.
        observer: gets remarks.

    Raises:
        UsageError: the model cannot be read, or what is said contradicts it.
        InvalidProgram: the model breaks a rule of ONNX.
    """
    if isinstance(model, LoadedModel):
        if inputs is not None:
            raise UsageError("inputs: a LoadedModel has its own; leave them out")
        return model
    spec = _spec_of(inputs)
    wanted = RequestedInputs(_claims(spec), takes_data=not spec.samples, weights=weights)
    if isinstance(model, str | Path):
        path = Path(model)
        program = load_seed(
            path, tell=lambda line: observer(Update(remark=line)), architecture=architecture, layers=layers
        )
        name, said = str(path), said_of({path: program}, wanted, observer)[path]
    else:
        path, program = None, load(model)
        refuse_unknown(wanted.claims, [program], weights=weights)
        initializers = program.graph.initializers
        ranges = {name: ends for name, ends in spec.ranges.items() if name in initializers}
        name, said = program.graph.name or "model", InputSettings(resolve(program, [wanted.claims]), weights=ranges)
    if spec.samples:
        _check_samples(program, spec.samples)
        check_sizes(program, spec.samples, said.spec, "inputs")
        said = replace(said, spec=replace(said.spec, samples=spec.samples), data="inputs")
    return LoadedModel(name, program, said, path)


def all_loaded(
    models: Model | Sequence[Model],
    inputs: Inputs | None = None,
    *,
    layers: bool = False,
    observer: Observer = unobserved,
) -> list[LoadedModel]:
    """Read a model or several; ``inputs`` are those of the only one, ``layers`` is that of ``loaded``.

    Raises:
        UsageError: there is none, or what is said is said of several; see ``loaded``.
        InvalidProgram: a model breaks a rule of ONNX.
    """
    given: list[Model] = list(models) if isinstance(models, list | tuple) else [models]  # pyright: ignore[reportAssignmentType]
    if not given:
        raise UsageError("models: expected at least one, got none")
    if inputs is not None and len(given) > 1:
        raise UsageError(f"inputs: they are of one model, got {len(given)} models")
    return [loaded(model, inputs, layers=layers, observer=observer) for model in given]


def program_of(
    model: LoadedModel, *, plan: bool = True, guess_floats: bool = True, observer: Observer = unobserved
) -> Program:
    """The program with what is said of its inputs in their metadata, and with a plan for what is left open.

    Args:
        model: it.
        plan: whether to decide what is left open; samples leave nothing open.
        guess_floats: see ``planned``.
        observer: see ``planned``.
    """
    program = annotated(model.program, model.said.spec)
    if not plan:
        return program
    return planned({model.key: program}, guess_floats=guess_floats, observer=observer)[model.key]


def all_programs(
    models: Sequence[LoadedModel], *, samples_too: bool = False, observer: Observer = unobserved
) -> list[Program]:
    """``program_of`` of several models, for the price of starting one runtime.

    Args:
        models: them.
        samples_too: make a plan for models with samples, too.
        observer: see ``planned``.
    """
    programs = {key: program_of(model, plan=False) for key, model in by_key(models).items()}
    wanted = {key for key, model in by_key(models).items() if samples_too or not model.said.spec.samples}
    programs |= planned({key: programs[key] for key in programs if key in wanted}, observer=observer)
    return list(programs.values())


def by_key(models: Sequence[LoadedModel]) -> dict[Path | str, LoadedModel]:
    """The models by file, or by name and place if they have none: several may have one name.

    Args:
        models: in order; places count from 1, as in ``model (model 2)``. Of one file twice the last stays.
    """
    return {model.path or f"{model.name} (model {number})": model for number, model in enumerate(models, 1)}


def _spec_of(inputs: Inputs | None) -> InputSpec:
    if inputs is None:
        return InputSpec()
    if isinstance(inputs, InputSpec):
        return inputs
    if isinstance(inputs, Mapping):
        return InputSpec(samples=[inputs])
    if isinstance(inputs, list | tuple) and inputs and all(isinstance(sample, Mapping) for sample in inputs):
        return InputSpec(samples=inputs)
    raise UsageError(
        "inputs: expected an InputSpec, a sample (arrays by input name) or a list of at least one sample, got "
        f"{type(inputs).__name__}"
    )


def _claims(spec: InputSpec) -> Claims:
    return Claims(
        [Claim(name, tuple(shape), f"inputs: shapes[{name!r}] = {shape}") for name, shape in spec.shapes.items()],
        [Claim(name, size, f"inputs: sizes[{name!r}] = {size}") for name, size in spec.sizes.items()],
        [Claim(name, _pair(name, ends), f"inputs: ranges[{name!r}]") for name, ends in spec.ranges.items()],
    )


def _pair(name: str, ends: tuple[float, float]) -> tuple[float, float]:
    """Two numbers.

    Raises:
        UsageError: they are no such.
    """
    if not isinstance(ends, tuple | list) or len(ends) != 2 or not ends[0] <= ends[1]:
        raise UsageError(f"inputs: ranges[{name!r}]: expected (lowest, highest), got {ends!r}")
    return float(ends[0]), float(ends[1])


def _check_samples(program: Program, samples: Sequence[Mapping[str, Value]]) -> None:
    for number, sample in enumerate(samples):
        check_sample(program, dict(sample), f"inputs: sample {number}")
