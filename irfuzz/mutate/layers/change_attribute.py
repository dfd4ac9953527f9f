"""``change-attribute``: a layer gets other attribute values from its operator's domains (COMET's MParam, table 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.facts import TensorFact
from irfuzz.ir.program import Program
from irfuzz.mutate.editing.layer_rewiring import dims_of, facts_of, largest, put_in_place, replacement, with_sizes
from irfuzz.mutate.editing.mutation_sites import has_open_indices, layer_nodes, node_at
from irfuzz.mutate.editing.node_inserter import Inserter
from irfuzz.mutate.feature_counts import attribute_bucket
from irfuzz.mutate.mutator_context import Context
from irfuzz.mutate.mutator_protocol import Profile, PublishedOperator, Relation, Skipped
from irfuzz.spec import sample_call

_TRIES = 4
_STAND_IN = 1
"""Number in place of a named size while attributes are drawn: what is valid for 1 is for more."""


@dataclass(frozen=True, slots=True)
class ChangeAttribute:
    """Draws attributes that are valid for the layer's present inputs, keeps one or all, and restores the outputs."""

    context: Context
    name: ClassVar[str] = "change-attribute"
    version: ClassVar[int] = 2
    relation: ClassVar[Relation] = Relation.CHANGED
    profile: ClassVar[Profile] = Profile(
        weight=2.0,
        papers=(
            PublishedOperator(
                "comet",
                4,
                "MParam",
                "Mutate Parameter",
                note="values that the layer's inputs allow; `invalid-value` draws others",
            ),
        ),
    )

    def sites(self, program: Program) -> list[str]:
        """Layers whose operator has attributes and can be sampled, but for casts, which ``change-dtype`` changes; by
        the name of their first output.
        """
        specs = self.context.specs
        found = []
        for node in layer_nodes(program, specs):
            spec = specs.get(node.op_type, program.opset)
            # Casts are for ``change-dtype``, which guards against floats out of range.
            if spec is not None and spec.has_overlay and spec.attrs and "casts" not in spec.traits:
                found.append(program.site_of(node))
        return found

    def apply(self, program: Program, site: str, choices: Choices) -> str | Skipped:
        """Draw other attributes, one of them or all, until the layer's inputs allow them; results are adapted to what
        they were.

        A node whose indices are not known is skipped, and so is one with a size that has no name.
        """
        node = node_at(program, site)
        specs, op, opset = self.context.specs, node.op_type, program.opset
        spec = specs.get(op, opset)
        if spec is None or not spec.has_overlay or not spec.attrs:
            return Skipped("no attribute that can be drawn")
        if has_open_indices(node):
            return Skipped("indices that are not known hold it to its sizes")
        facts = facts_of(program, node.inputs)
        names = dims_of([f for f in facts if isinstance(f, TensorFact)])
        if names is None:
            return Skipped("a size that has no name")
        sizes = {n: _STAND_IN + place for place, n in enumerate(names)}
        given = {
            i: g for i, f in enumerate(facts) if isinstance(f, TensorFact) and (g := with_sizes(f, sizes)) is not None
        }
        old = program.attrs(node)
        limit = largest(program)
        for _ in range(_TRIES):
            call = sample_call(spec, given, choices, seen=self.context.drawn, max_elements=limit)
            if call is None:
                continue
            drawn = call.attrs
            changed = [n for n in sorted({*drawn, *old}) if n in spec.attrs and not _same(drawn.get(n), old.get(n))]
            if not changed:
                continue
            one = self.context.prefer(
                choices, changed, lambda n, drawn=drawn: ("attr", op, n, attribute_bucket(drawn.get(n)))
            )
            candidates = [_with(node, old, drawn, [one]), _with(node, old, drawn, changed)]
            if len(changed) > 1 and choices.boolean():
                candidates.reverse()
            for attrs, which in candidates:
                if replacement(program, specs, node, facts, attrs, limit) is None:
                    continue
                inserter = Inserter(program, node)
                new_node = inserter.node(op, node.inputs, attrs, len(node.outputs))
                put_in_place(program, specs, inserter, node.outputs, new_node.outputs, choices)
                return f"{op} at {site} has {', '.join(f'{n} = {_text(drawn.get(n))}' for n in which)}"
        return Skipped("no other attribute value")


def _with(
    node: ir.Node, old: dict[str, Any], drawn: dict[str, Any], names: list[str]
) -> tuple[dict[str, Any], list[str]]:
    attrs: dict[str, Any] = {name: node.attributes[name] for name in old if name not in names}
    attrs.update({name: drawn[name] for name in names if name in drawn})
    # Explicit padding and automatic padding exclude each other, whichever of them was drawn; onnxruntime also refuses
    # dilations with the latter.
    explicit = ("pads", "dilations")
    if "auto_pad" in names and drawn.get("auto_pad", "NOTSET") != "NOTSET":
        for name in explicit:
            attrs.pop(name, None)
    elif any(name in names and name in drawn for name in explicit):
        attrs.pop("auto_pad", None)
    return attrs, names


def _same(a: object, b: object) -> bool:
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return list(a) == list(b)
    return type(a) is type(b) and a == b


def _text(value: object) -> str:
    return "its default" if value is None else repr(value)
