"""What is said of inputs is written into a program, so that it travels with its mutants.

Sizes and ranges become the metadata that ``irfuzz.ir.input_domain`` reads: everything that draws inputs for the program
or for a mutant of it keeps to them, in every process and in every later run. Whoever decides what is not said leaves
what is written there as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir

from irfuzz.facts import Dim, TensorFact, tensors_in
from irfuzz.generate.input_spec import InputSpec
from irfuzz.ir.input_domain import (
    InputDomain,
    input_sizes,
    input_variants,
    set_input_domain,
    set_input_sizes,
    set_input_variants,
)
from irfuzz.ir.program import Program
from irfuzz.mutate.model_interface.dimension_to_symbol import fresh_sizes

if TYPE_CHECKING:
    from irfuzz.generate.input_values import Value


def annotated(program: Program, spec: InputSpec) -> Program:
    """The program with what is said of its inputs in their metadata.

    Axes without a name whose size is said get one. Samples say sizes and ranges of which nothing else is said: a
    dimension may have each size that it has in one of them, an element lies between the smallest and the largest.

    Args:
        program: it stays as it is.
        spec: in agreement with it, see ``input_claims.resolve``.

    Shapes that metadata lists as going together are given up if sizes are said, and elements of an input that go with
    them if its range is.

    Returns:
        A copy; the program itself if nothing is said.
    """
    if not spec:
        return program
    copy = program.clone()
    inputs = [value for value in copy.graph.inputs if value.name and value.name not in copy.graph.initializers]
    shapes = {value.name or "": _shapes_of(value.name or "", spec) for value in inputs}
    free = fresh_sizes(copy)
    named: dict[ir.Value, TensorFact] = {}
    for value in inputs:
        fact, said = copy.fact(value), shapes[value.name or ""]
        if not isinstance(fact, TensorFact) or not said:
            continue
        sizes: tuple[Dim, ...] = (None,) * len(said[0]) if fact.shape is None else fact.shape
        full = tuple(next(free) if size is None else size for size in sizes)
        if full != fact.shape:
            named[value] = replace(fact, shape=full)
    if named:
        copy.declare_inputs(named)
    allowed = _allowed(copy, inputs, shapes, spec)
    ranges = {**ranges_of_samples(spec.samples), **spec.ranges}
    for value in inputs:
        fact = tensors_in(copy.fact(value))
        own = {size for size in (fact.shape or () if fact is not None else ()) if isinstance(size, str)}
        written = {**input_sizes(value), **{name: sizes for name, sizes in allowed.items() if name in own}}
        if written:
            set_input_sizes(value, written)
        variants = () if spec.shapes or spec.sizes or spec.samples else input_variants(value)
        if value.name in ranges:
            set_input_domain(value, InputDomain(*ranges[value.name]))
            variants = [replace(variant, exact=None) for variant in variants]
        set_input_variants(value, variants)
    return copy


def fixed(program: Program, spec: InputSpec) -> Program:
    """The program with the sizes that are said, those of the first sample among them, as numbers instead of names.

    Args:
        program: it stays as it is.
        spec: in agreement with it.

    Returns:
        A copy, with ranges in its metadata; the program itself if nothing is said.
    """
    if not spec:
        return program
    copy = annotated(program, replace(spec, samples=spec.samples[:1]))
    inputs = [value for value in copy.graph.inputs if value.name and value.name not in copy.graph.initializers]
    numbers = {n: sizes[0] for value in inputs for n, sizes in input_sizes(value).items() if len(sizes) == 1}
    facts: dict[ir.Value, TensorFact] = {}
    for value in inputs:
        fact = copy.fact(value)
        if isinstance(fact, TensorFact) and any(size in numbers for size in fact.shape or ()):
            shape = tuple(numbers.get(size, size) if isinstance(size, str) else size for size in fact.shape or ())
            facts[value] = replace(fact, shape=shape)
            set_input_sizes(value, {n: sizes for n, sizes in input_sizes(value).items() if n not in numbers})
    copy.declare_inputs(facts)
    return copy


def _shapes_of(name: str, spec: InputSpec) -> list[tuple[int, ...]]:
    """The shapes that an input is said to have: one, or those of the samples."""
    if name in spec.shapes:
        return [spec.shapes[name]]
    arrays = [sample.get(name) for sample in spec.samples]
    return list(dict.fromkeys(array.shape for array in arrays if isinstance(array, np.ndarray)))


def _allowed(
    program: Program, inputs: Sequence[ir.Value], shapes: Mapping[str, Sequence[tuple[int, ...]]], spec: InputSpec
) -> dict[str, tuple[int, ...]]:
    """Sizes of named dimensions: what is said, else what the shapes have."""
    found: dict[str, set[int]] = {}
    for value in inputs:
        fact = program.fact(value)
        if isinstance(fact, TensorFact) and fact.shape is not None:
            for shape in shapes[value.name or ""]:
                for size, number in zip(fact.shape, shape, strict=True):
                    if isinstance(size, str):
                        found.setdefault(size, set()).add(number)
    found |= {name: {size} for name, size in spec.sizes.items()}
    return {name: tuple(sorted(sizes)) for name, sizes in found.items()}


def ranges_of_samples(samples: Sequence[Mapping[str, Value]]) -> dict[str, tuple[float, float]]:
    """The smallest and largest element of each input of numbers, over all samples, by name; none for inputs with NaN or
    infinities, for truth values, text and complex numbers.
    """
    found: dict[str, tuple[float, float]] = {}
    for name in {name: None for sample in samples for name in sample}:
        arrays = [array for sample in samples if isinstance(array := sample.get(name), np.ndarray) and array.size]
        if not arrays or any(array.dtype.kind in "bOUSc" for array in arrays):
            continue
        wide = [array.astype(np.float64) if array.dtype.kind not in "iuf" else array for array in arrays]
        low, high = min(float(a.min()) for a in wide), max(float(a.max()) for a in wide)
        if np.isfinite(low) and np.isfinite(high):
            found[name] = (low, high)
    return found
