"""Replaces an operator by the body of the function with which ONNX defines it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnx
import onnx_ir as ir

from irfuzz.choices import Choices
from irfuzz.errors import InvalidProgram
from irfuzz.facts import TensorFact
from irfuzz.ir.inference.graph_facts import instantiate
from irfuzz.ir.subgraphs import Mapping, copy_nodes
from irfuzz.mutate.control_flow.body_draft import require_no_less
from irfuzz.mutate.editing.convex_regions import same_type
from irfuzz.mutate.editing.mutation_sites import layer_nodes, node_at
from irfuzz.mutate.mutator_protocol import Skipped
from irfuzz.rewrite.rewrite_rule import Exactness, Rewrite
from irfuzz.rewrite.rule_builders import MOST_ELEMENTS

if TYPE_CHECKING:
    from irfuzz.ir.program import Program
    from irfuzz.spec import Specs

_AWRY = frozenset({"Dropout", "Bernoulli", "SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss", "Range"})
"""Operators whose body draws, or loops, or whose body defines less than their text."""


def _body(program: Program, node: ir.Node) -> onnx.FunctionProto | None:
    """The body, as the operators of the program's own opset spell it."""
    if node.op_type in _AWRY:
        return None
    try:
        schema: Any = onnx.defs.get_schema(node.op_type, program.opset, "")  # the stubs lack the bodies
    except onnx.defs.SchemaError:
        return None
    versions = [v for v in schema.function_opset_versions if v <= program.opset]
    open_versions = [v for v in schema.context_dependent_function_opset_versions if v <= program.opset]
    text = b""
    if versions:
        text = schema.get_function_with_opset_version(max(versions))
    elif open_versions:
        types = _types(program, node)
        if types is None:
            return None
        call = ir.to_proto(node).SerializeToString()
        text = schema.get_context_dependent_function_with_opset_version(max(open_versions), call, types)
    if not text:
        return None
    function = onnx.FunctionProto()
    function.ParseFromString(text)
    # A body that hangs on the call leaves out optional outputs, and names them all the same.
    del function.output[len(node.outputs) :]
    made = {name for inner in function.node for name in inner.output} | set(function.input)
    if not made.issuperset(function.output):
        return None
    return function if _spelt_alike(function, program.opset) else None


def _types(program: Program, node: ir.Node) -> list[bytes] | None:
    types: list[bytes] = []
    for value in node.inputs:
        fact = program.tensor(value)
        if value is None or fact is None:
            types.append(onnx.TypeProto().SerializeToString())
        else:
            types.append(onnx.helper.make_tensor_type_proto(int(fact.dtype), fact.static_shape).SerializeToString())
    return types


def _spelt_alike(function: onnx.FunctionProto, opset: int) -> bool:
    """True if every operator of the body is the same in its opset and in the program's."""
    own = next((o.version for o in function.opset_import if o.domain in ("", "ai.onnx")), opset)
    for node in function.node:
        if node.domain not in ("", "ai.onnx") or any(a.HasField("g") for a in node.attribute):
            return False
        try:
            then, now = (onnx.defs.get_schema(node.op_type, v, "").since_version for v in (own, opset))
        except onnx.defs.SchemaError:
            return False
        if then != now:
            return False
    return True


def _sites(program: Program, specs: Specs) -> list[str]:
    return [program.site_of(n) for n in layer_nodes(program, specs) if _fits(program, n)]


def _fits(program: Program, node: ir.Node) -> bool:
    for value in (*node.inputs, *node.outputs):
        fact = program.tensor(value)
        if (
            value is not None
            and value.name
            and (not isinstance(fact, TensorFact) or not fact.is_static or not 0 < (fact.size() or 0) < MOST_ELEMENTS)
        ):
            return False
    return _body(program, node) is not None


def _with_defaults(program: Program, node: ir.Node) -> ir.Node:
    """A detached call with every attribute spelt out: a body refers to attributes, not to the schema's defaults."""
    schema = onnx.defs.get_schema(node.op_type, program.opset, "")
    attrs = dict(node.attributes.items())
    for name, formal in schema.attributes.items():
        if name not in attrs and formal.default_value.name:
            attrs[name] = ir.from_proto(formal.default_value)
    return ir.Node("", node.op_type, [], list(attrs.values()))


def _apply(program: Program, specs: Specs, site: str, choices: Choices) -> str | Skipped:
    node = node_at(program, site)
    body = _body(program, node) if _fits(program, node) else None
    if body is None:
        return Skipped("ONNX has no body for this call at this opset")
    outputs = [(o.name, program.fact(o)) for o in program.graph.outputs]
    function = instantiate(ir.serde.deserialize_function(body), _with_defaults(program, node))
    given: list[ir.Value | None] = [*node.inputs, *[None] * (len(function.inputs) - len(node.inputs))]
    mapping: Mapping = dict(zip(function.inputs, given, strict=False))
    program.put_in(copy_nodes(function, mapping, program.fresh), before=node)
    for old, formal in zip(node.outputs, function.outputs, strict=False):
        if not old.uses() and not old.is_graph_output():
            continue
        new = mapping[formal]
        if new is None or not same_type(program.fact(old), program.fact(new)):
            raise InvalidProgram(f"value {old.name!r}: the body gives another type")
        if new.is_graph_input() or new.is_graph_output() or new.is_initializer():
            new = program.insert("Identity", [new], before=node).outputs[0]
        program.replace_uses(old, new, outputs=True)
    program.prune()
    require_no_less(program, outputs)
    return f"{node.op_type} at {site}: its function body, {len(body.node)} nodes"


REWRITES: tuple[Rewrite, ...] = (
    Rewrite(
        "function-body",
        Exactness.BOUNDED,
        "an operator -> the function body that ONNX defines it by",
        _sites,
        _apply,
        7,
    ),
)
