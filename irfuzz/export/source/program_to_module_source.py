"""Writes the text of a framework's module that computes a program, and its arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import onnx_ir as ir
from onnx_ir.passes.common import InlinePass

from irfuzz.errors import NoOperator, Unsupported
from irfuzz.export.source.emitter_context import (
    Code,
    Emitter,
    EmitterContext,
    StatementBlock,
    TupleExpression,
    comment,
    literal,
)
from irfuzz.export.source.framework_description import FrameworkDescription
from irfuzz.export.source.module_source import ModuleSource
from irfuzz.export.source.python_identifiers import PythonIdentifiers
from irfuzz.export.source.support_function_source import pieces, support_text
from irfuzz.ir.inference.call_output_types import schema_of
from irfuzz.ir.inlining import without_functions
from irfuzz.ir.program import Program

OLDEST_OPSET = 6
"""Before it, several operators took sizes as attributes, and wrote into their inputs."""


def lower(framework: FrameworkDescription, program: Program) -> ModuleSource:
    """Lower a program operator by operator.

    The module computes each operator in the element type that ONNX gives its result. float16 and bfloat16 elementwise
    operators have one rounding (float32 inside); matrix products, convolutions, reductions, normalisations and other
    compositions of them compute in float32 and round once at the end. Types that the framework lacks kernels for are
    widened or reinterpreted, exactly.

    Args:
        framework: what the module computes with.
        program: it stays as it is; calls of its local functions are inlined, but for layers that the framework keeps.

    Raises:
        Unsupported: an operator, attribute or element type has no exact form in the framework.
        NoOperator: a node is of an operator of another domain that onnx does not know either.
    """
    program = without_functions(program, framework.keeps)

    def dtype_of(value: ir.Value) -> ir.DataType | None:
        dtype = getattr(program.fact(value), "dtype", None)
        return dtype if dtype is not None else value.dtype

    def shape_of(value: ir.Value) -> tuple[int, ...] | None:
        fact = program.tensor(value)
        return None if fact is None else fact.static_shape

    return lower_model(framework, program.model, dtype_of=dtype_of, shape_of=shape_of)


def lower_model(
    framework: FrameworkDescription,
    model: ir.Model,
    dtype_of: Callable[[ir.Value], ir.DataType | None] | None = None,
    shape_of: Callable[[ir.Value], tuple[int, ...] | None] = lambda _: None,
) -> ModuleSource:
    """``lower`` for a model without facts.

    Args:
        framework: what the module computes with.
        model: it stays as it is: if functions are to be inlined, that is done on a copy.
        dtype_of: element type of a value, ``None`` if unknown; by default what the model declares. It is not asked if
            functions are inlined, since it knows the values of the original only.
        shape_of: sizes of a value, ``None`` if unknown; by default the model's own shapes are all that is known.

    Raises:
        Unsupported: the opset is older than 6, or something has no exact form in the framework.
        NoOperator: a node is of an operator of another domain that onnx does not know either.
    """
    if not all(framework.keeps(function) for function in model.functions.values()):
        model = model.clone()
        InlinePass(lambda function: not framework.keeps(function))(model)
        dtype_of = None
    known_dtype = dtype_of or (lambda value: value.dtype)
    opset = model.opset_imports.get("", model.opset_imports.get("ai.onnx", 0))
    if "" in model.opset_imports and opset < OLDEST_OPSET:
        raise Unsupported(framework.component, "model", f"opset {opset} is older than {OLDEST_OPSET}")
    return _Writer(framework, model, opset, known_dtype, shape_of).write()


class _Writer:
    """Writes one module. The main graph and control flow bodies become the body of ``forward``."""

    def __init__(
        self,
        framework: FrameworkDescription,
        model: ir.Model,
        opset: int,
        dtype_of: Callable[[ir.Value], ir.DataType | None],
        shape_of: Callable[[ir.Value], tuple[int, ...] | None],
    ) -> None:
        self.framework = framework
        self.model = model
        self.graph = model.graph
        self.names = PythonIdentifiers({*pieces(framework.support, framework.replacements), *framework.reserved})
        self.overridable = {v.name for v in self.graph.inputs}
        self.context = EmitterContext(
            framework, opset, self.names, self._constant, dtype_of, self._graph_lines, shape_of
        )

    def write(self) -> ModuleSource:
        graph = self.graph
        context = self.context
        input_dtypes: dict[str, str] = {}
        loads: list[str] = []
        required: list[str] = []
        for value in graph.inputs:
            name = value.name or ""
            where = f"input {name!r}"
            input_dtypes[name] = self.framework.spelled(self._element_type(value, where), where)
            if name in graph.initializers:
                loads.append(f"    {context.name(value)} = inputs.get({literal(name)}, weights[{literal(name)}])")
            else:
                required.append(name)
                loads.append(f"    {context.name(value)} = inputs[{literal(name)}]")
        for name, value in graph.initializers.items():
            if name not in self.overridable:
                loads.append(self._load(value))
            else:
                self._store(value)
        body = self._node_lines(graph, 1)
        outputs = [v.name or "" for v in graph.outputs]
        results = ", ".join(f"{literal(v.name or '')}: {context.name(v)}" for v in graph.outputs)
        context.used.update(self.framework.always)
        support = support_text(context.used, self.framework.support, self.framework.replacements)
        constants = [t for t in support if not t.startswith("def ")]
        functions = [t for t in support if t.startswith("def ")]
        text = "".join([*functions, *body])
        imports = [f"import {name}" for name in ("itertools", "math") if f"{name}." in text]
        title = (graph.name or "model").replace("\\", "/").replace('"', "'").replace("\n", " ")
        of = f"{self.framework.title} form of {title!r}, ONNX opset {context.opset}"
        header = [
            f'"""{of}: ``run`` takes the inputs as arrays and gives the outputs."""',
            "",
            *imports,
            *([""] if imports else []),
            self.framework.array_module,
            *[line for needed, line in self.framework.imports if needed in text],
        ]
        if constants:
            header += ["", *constants]
        forward = [
            "def forward(weights, inputs):",
            '    """Compute the outputs by name, as tensors, from the weights and inputs by name, as tensors."""',
            *loads,
            *body,
            f"    return {{{results}}}",
        ]
        run = [
            _table("INPUT_DTYPES", input_dtypes),
            _table("WEIGHT_DTYPES", context.array_dtypes),
            "",
            "",
            "def tensors(arrays, inputs):",
            '    """Weights and inputs by name, as tensors, from the same as arrays."""',
            f"    weights = {{n: {self.framework.weight}(arrays[n], dtype) for n, dtype in WEIGHT_DTYPES.items()}}",
            "    return weights, {name: to_tensor(value, INPUT_DTYPES[name]) for name, value in inputs.items()}",
            "",
            "",
            "def run(arrays, inputs):",
            '    """Compute the outputs by name, as arrays, from the weights and inputs by name, as arrays."""',
            *self.framework.run,
        ]
        chunks = ["\n".join(header), *functions, "\n".join(forward), "\n".join(run)]
        return ModuleSource("\n\n\n".join(chunks) + "\n", dict(context.arrays), tuple(required), tuple(outputs))

    # graphs

    def _node_lines(self, graph: ir.Graph, depth: int) -> list[str]:
        lines: list[str] = []
        before, after = self.framework.before, self.framework.after
        for node in graph:
            own = self._emit(node)
            if before is not None:
                own = [*before(self.context, node), *own]
            if after is not None:
                own = [*own, *after(self.context, node)]
            lines.extend("    " * depth + line for line in own)
        return lines

    def _graph_lines(self, graph: ir.Graph, results: Sequence[str], depth: int) -> list[str]:
        """Lines that compute a subgraph and bind its outputs to ``results``, indented by ``depth``."""
        lines = [self._load(v)[4:] for v in graph.initializers.values()]
        lines = ["    " * depth + line for line in lines] + self._node_lines(graph, depth)
        given = ", ".join(self.context.name(value) for value in graph.outputs)
        return [*lines, "    " * depth + (f"{', '.join(results)} = {given}" if results else "pass")]

    def _emit(self, node: ir.Node) -> list[str]:
        emitter = self._emitter(node)
        if emitter is None:
            if (
                node.domain
                and schema_of(node.op_type, self.model.opset_imports.get(node.domain, 1), node.domain) is None
            ):
                raise NoOperator(self.framework.component, f"{node.domain}.{node.op_type}")
            op = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
            raise Unsupported(self.framework.component, op, "no lowering for this operator")
        emitted = emitter(self.context, node)
        if isinstance(emitted, StatementBlock):
            return list(emitted.lines)
        targets = [self.context.name(v) if v.name else Code("_") for v in node.outputs]
        if isinstance(emitted, TupleExpression):
            targets += [Code("_")] * (emitted.count - len(targets))
            left = ", ".join(targets) + ("," if len(targets) == 1 else "")
            return [f"{left} = {emitted.expression}{comment(node)}"]
        if len([t for t in targets if t != "_"]) > 1:
            raise self.context.unsupported(node, f"{len(targets)} outputs at opset {self.context.opset}")
        return [f"{targets[0]} = {emitted}{comment(node)}"]

    def _emitter(self, node: ir.Node) -> Emitter | None:
        function, layer = self.model.functions.get(node.op_identifier()), self.framework.layer
        if function is not None and layer is not None:
            return lambda context, call: layer(context, call, function)
        return self.framework.emitters.get((node.domain, node.op_type))

    # constants

    def _constant(self, value: ir.Value) -> np.ndarray | None:
        """The array of a value that no input can change."""
        if value.is_initializer():
            if value.graph is self.graph and value.name in self.overridable:
                return None
            return None if value.const_value is None else value.const_value.numpy()
        producer = value.producer()
        if producer is not None and producer.domain == "" and producer.op_type == "Constant":
            for name in ("value", "value_int", "value_ints", "value_float", "value_floats"):
                found = producer.attributes.get(name)
                if found is not None:
                    return found.value.numpy() if name == "value" else np.asarray(found.value)
        return None

    def _load(self, value: ir.Value) -> str:
        key = self._store(value)
        shape = ", ".join(str(d) for d in self.context.arrays[key].shape)
        return f"    {self.context.name(value)} = weights[{literal(key)}]  # [{shape}]"

    def _store(self, value: ir.Value) -> str:
        """Put an initializer into the arrays and give its key: its name, but for a clash of scopes."""
        name = value.name or ""
        if value.const_value is None:
            where = f"initializer {name!r}"
            raise Unsupported(self.framework.component, where, "its data is not in the model")
        return self.context.store(name, value.const_value)

    def _element_type(self, value: ir.Value, where: str) -> ir.DataType:
        kind = value.type
        while isinstance(kind, ir.SequenceType | ir.OptionalType):
            kind = kind.elem_type
        if not isinstance(kind, ir.TensorType):
            raise Unsupported(self.framework.component, where, "its type is not declared, or holds no dense tensors")
        return kind.dtype


def _table(name: str, dtypes: Mapping[str, str]) -> str:
    if not dtypes:
        return f"{name} = {{}}"
    return "\n".join([f"{name} = {{", *(f"    {literal(k)}: {v}," for k, v in dtypes.items()), "}"])
