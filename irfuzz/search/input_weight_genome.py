"""A program's inputs or weights as one vector of genes, and back (AUDEE, 2.4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import onnx_ir as ir

from irfuzz.errors import UsageError
from irfuzz.facts import TensorFact
from irfuzz.generate.input_values import Value, make_inputs
from irfuzz.ir.input_domain import input_domain
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.mutation_sites import exact_values
from irfuzz.oracle.numeric.dtype_thresholds import is_float, largest
from irfuzz.search.gene_vector_breeding import GeneBlock
from irfuzz.spec import trait_values

MOST_GENES = 1 << 20
"""A population of longer chromosomes would not fit into memory; tensors are taken in order, as far as they fit."""

REACH = 10.0
"""Weights of which no range is given stay within so many times the largest magnitude in their tensor."""

_WHOLE = 2.0**53

Ends = tuple[float, float]


class Level(StrEnum):
    """What evolves."""

    INPUT = "input"
    WEIGHTS = "weights"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Genome:
    """A program as a function of genes.

    Attributes:
        original: the program.
        program: the same with evolving weights as further inputs, so that a generation is one program on many inputs.
        blocks: what the genes are, by the names of ``program``'s inputs.
        weights: name of the initializer in ``original`` by the name of the input in ``program``.
        base: values of ``program``'s inputs from which evolution starts.
        left_out: names of float tensors that were too many.
    """

    original: Program
    program: Program
    blocks: tuple[GeneBlock, ...]
    weights: Mapping[str, str]
    base: Mapping[str, Value]
    left_out: tuple[str, ...]

    def start(self) -> np.ndarray:
        """The genes of ``base``, float64 of shape (genes,), in the order of ``blocks``."""
        genes = self.genes_of({})
        assert genes is not None
        return genes

    def genes_of(self, values: Mapping[str, Value]) -> np.ndarray | None:
        """The genes of other values, with those of ``base`` for what is not among them; ``None`` for other shapes.

        Args:
            values: by names of ``program``'s inputs; names of others are not read.

        Returns:
            A new float64 array of shape (genes,), not clipped to the ranges.
        """
        arrays = [np.asarray(values.get(b.name, self.base[b.name])) for b in self.blocks]
        if any(array.shape != block.shape for array, block in zip(arrays, self.blocks, strict=True)):
            return None
        return np.concatenate([array.astype(np.float64).reshape(-1) for array in arrays])

    def inputs(self, genes: np.ndarray) -> dict[str, Value]:
        """Values of ``program``'s inputs: those of ``base`` with what the genes say in its place.

        Args:
            genes: float64 of shape (genes,); they become the element type that ``base`` has, and may overflow to
                infinity in it.

        Returns:
            A new dictionary by name, with evolving weights among the inputs. Values that do not evolve are those of
                ``base``, not copies.
        """
        made = dict(self.base)
        at = 0
        for block in self.blocks:
            dtype = np.asarray(self.base[block.name]).dtype
            part = genes[at : at + block.size].reshape(block.shape)
            with np.errstate(all="ignore"):
                made[block.name] = np.asarray(part).astype(dtype)
            at += block.size
        return made

    def witness(self, genes: np.ndarray) -> tuple[Program, dict[str, Value]]:
        """The original program with evolved weights in it, and values of its own inputs.

        Args:
            genes: float64 of shape (genes,).

        Returns:
            A clone of ``original``, whose initializers are set, and values of its inputs by name.
        """
        values = self.inputs(genes)
        program = self.original.clone()
        for name, initializer in self.weights.items():
            value = program.value(initializer)
            assert value is not None
            program.set_constant(value, np.asarray(values.pop(name)))
        return program, values


class NothingEvolves(UsageError):
    """A model has no inputs or weights of the level that is searched on which a search may work."""


def genome_of(
    program: Program, level: Level, ranges: Mapping[str, Ends], seed: int, start: Mapping[str, Value] | None = None
) -> Genome:
    """Inputs and weights that can evolve.

    Inputs evolve within their range: as given, as their metadata or type says; floats of which nothing is said may be
    every finite number. Integers of which nothing is said stay as they are, for they may be indices, and so do elements
    that decide shapes. Float weights evolve within ``ranges``, else within ``REACH`` times their largest magnitude;
    variances of BatchNormalization do not become negative. Inputs of ``start`` take the place of drawn ones.

    Raises:
        UsageError: a range is that of nothing in the program; ``NothingEvolves``.
        Unsupported: an input cannot be made.
    """
    known = {v.name for v in program.graph.inputs} | set(program.graph.initializers)
    for name in ranges:
        if name not in known:
            raise UsageError(f"--range {name}: no such input or initializer in the model")
    base = make_inputs(program, seed, ranges={n: r for n, r in ranges.items() if n in {*_names(program)}})
    base = {**base, **(start or {})}
    probe = program.clone()
    blocks: list[GeneBlock] = []
    if level != Level.WEIGHTS:
        exact = {v.name for v in exact_values(program)}
        for value in program.graph.inputs:
            block = _of_input(program, value, base.get(value.name or ""), ranges, value.name in exact)
            blocks += [block] if block is not None else []
    weights: dict[str, str] = {}
    if level != Level.INPUT:
        for name, array, ends in _weights(program, ranges):
            fact = probe.fact(probe.graph.initializers[name])
            assert isinstance(fact, TensorFact)
            new = probe.add_input(fact.without_value(), "weight")
            probe.replace_uses(probe.graph.initializers[name], new)
            weights[new.name or ""] = name
            base[new.name or ""] = array
            deviation = float(array.astype(np.float64).std())
            blocks.append(GeneBlock(new.name or "", array.shape, *ends, deviation or float(np.abs(array).max()) or 1.0))
        probe.prune()
    kept: list[GeneBlock] = []
    left_out: list[GeneBlock] = []
    total = 0
    for block in blocks:
        fits = total + block.size <= MOST_GENES
        (kept if fits else left_out).append(block)
        total += block.size if fits else 0
    if not total:
        what = {Level.INPUT: "input", Level.WEIGHTS: "weight"}.get(level, "input or weight")
        raise NothingEvolves(f"the model has no {what} that can evolve (floats; integers with a range, booleans)")
    names = tuple(weights.get(b.name, b.name) for b in left_out)
    return Genome(program, probe, tuple(kept), weights, base, names)


def _names(program: Program) -> list[str]:
    return [v.name or "" for v in program.graph.inputs]


def _of_input(
    program: Program, value: ir.Value, sample: Value, ranges: Mapping[str, Ends], exact: bool
) -> GeneBlock | None:
    """The genes of an input, ``None`` if it stays as it is."""
    name, fact = value.name or "", program.fact(value)
    if not isinstance(sample, np.ndarray) or not isinstance(fact, TensorFact) or sample.dtype == object:
        return None
    if sample.dtype == bool:
        return None if exact else GeneBlock(name, sample.shape, 0.0, 1.0, 1.0, whole=True)
    domain = input_domain(value)
    if domain is not None and domain.exact is not None:
        return None
    ends = ranges.get(name)
    if ends is None and domain is not None:
        ends = (domain.low, domain.high)
    if ends is None and fact.low is not None and fact.high is not None:
        ends = (fact.low, fact.high)
    if is_float(sample.dtype):
        top = largest(sample.dtype)
        low, high = (-top, top) if ends is None else (max(ends[0], -top), min(ends[1], top))
        return GeneBlock(name, sample.shape, low, high, high - low if ends is not None else 1.0)
    if ends is None or sample.dtype.kind not in "iu":
        return None
    info = np.iinfo(sample.dtype)
    low, high = max(ends[0], float(info.min), -_WHOLE), min(ends[1], float(info.max), _WHOLE)
    return GeneBlock(name, sample.shape, low, high, max(high - low, 1.0), whole=True)


def _weights(program: Program, ranges: Mapping[str, Ends]) -> list[tuple[str, np.ndarray, Ends]]:
    """Float initializers that may have other elements, with the ends of their range."""
    exact = exact_values(program)
    inputs = {*_names(program)}
    found: list[tuple[str, np.ndarray, Ends]] = []
    for name, value in program.graph.initializers.items():
        tensor = program.constant_of(value)
        if tensor is None or name in inputs or value in exact or not value.uses() or value.is_graph_output():
            continue
        if not isinstance(program.fact(value), TensorFact) or not tensor.dtype.is_floating_point():
            continue
        array = tensor.numpy()
        array = array.astype(np.dtype(array.dtype.type))  # a little-endian dtype is not the built-in one to transports
        wide = array.astype(np.float64)
        if name not in ranges and (array.ndim == 0 or array.size < 2):
            continue  # scalars are epsilons and factors that nothing trains
        if not array.size or not np.isfinite(wide).all():
            continue
        top = min(REACH * float(np.abs(wide).max()) or 1.0, largest(array.dtype))
        variance = any(index in trait_values("nonnegative_inputs").get(n.op_type, ()) for n, index in value.uses())
        found.append((name, array, ranges.get(name, (0.0 if variance else -top, top))))
    return found
