"""Writes a finding's script in less than 40 lines that build the model, if that can be done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from irfuzz.errors import InvalidProgram
from irfuzz.findings.failing_case import FailingCase
from irfuzz.findings.output_literals import special
from irfuzz.oracle.verdict import Symptom
from irfuzz.report.repro_scripts.full_script import LONGEST_TITLE, ReproSpec, mended, one_line, pass_note
from irfuzz.report.repro_scripts.target_snippets import packages_of, runner_of
from irfuzz.report.specification_quotes import sections_of

LINES, COLUMNS = 39, 160
ELEMENTS = 64
"""Most of all tensors together that are written down."""

_A = onnx.AttributeProto
_PLAIN = frozenset({_A.INT, _A.FLOAT, _A.STRING, _A.INTS, _A.FLOATS, _A.STRINGS})

_TAKEN = frozenset({"op_type", "inputs", "outputs", "name", "doc_string", "domain", "overload"})
"""Words of ``helper.make_node`` itself."""

_HOOK = 'sys.excepthook = lambda kind, error, _: (print("cannot tell:", kind.__name__, error, flush=True), os._exit(2))'
"""Python would exit with 1 for an error."""


def short_source(scene: ReproSpec, case: FailingCase) -> str | None:
    """The script's text; ``None`` if the long one has to do (``repro.repro_source``).

    It compares with what the witnesses answered when it was written, and says why that is right.

    Args:
        scene: what is to be shown.
        case: the reduced program, and its inputs.
    """
    blamed = scene.blamed
    if blamed.environment or scene.odd_inputs or scene.odd_types or scene.runs > 1:
        return None
    judged = judged_lines(scene)
    try:
        proto = case.proto
        if not proto.graph.output:
            return None
        built = _model(proto, case.inputs)
    except (InvalidProgram, ValueError, TypeError):
        return None
    runner = runner_of(blamed, proto, scene.output or proto.graph.output[0].name, scene.symptom)
    if judged is None or built is None or runner is None:
        return None
    package, _, run = runner.partition("SETUP\n")
    if mended(scene):
        run = run.replace("lambda:", "lambda off=():").replace('"])', '"], disabled_optimizers=[*off])')
        judged.insert(-1, _without(scene))
    helpers = "from onnx import helper, numpy_helper" if "numpy_helper" in built else "from onnx import helper"
    imports, packages = ["import onnx", package.strip(), helpers], ["onnx", *packages_of(blamed)]
    return script_text(scene, about_lines(scene, proto, packages), imports, [built, run.strip()], judged)


def script_text(
    scene: ReproSpec, about: Sequence[str], imports: Sequence[str], built: Sequence[str], judged: Sequence[str]
) -> str | None:
    """The parts put together; ``None`` if that is too long to be called short.

    Args:
        scene: its title begins the script.
        about: lines of its docstring.
        imports: lines, numpy and what every script needs apart.
        built: source that makes the model, its inputs and ``run``.
        judged: lines that set ``shows``.
    """
    text = "\n".join([
        f'"""{one_line(scene.title)[:LONGEST_TITLE]}', "", *about, '"""',
        "import os, sys", _HOOK, "import numpy as np", *imports, "",
        *built, *judged,
        'print("the fault shows" if shows else "the fault does not show")',
        "sys.exit(int(shows))", "",
    ])  # fmt: skip
    lines = text.splitlines()
    return text if len(lines) <= LINES and max(map(len, lines)) <= COLUMNS * 2 else None


def _without(scene: ReproSpec) -> str:
    """A line that shows what comes without the passes to blame."""
    index = "" if scene.place is None else f"[{', '.join(map(str, scene.place[1])) or '()'}]"
    answer = f"np.asarray(run({list(scene.passes)!r}))"
    of_values = scene.symptom in (Symptom.DIFFERENCE, Symptom.NAN_INF)
    return f'print("without {", ".join(scene.passes)}", {answer}{index if of_values else ".shape"})'


def about_lines(scene: ReproSpec, proto: onnx.ModelProto, packages: Sequence[str]) -> list[str]:
    """What a reader needs to know first: version, packages, exit codes, whose answer is expected and by which section
    of ONNX.

    Args:
        scene: what is to be shown.
        proto: the model.
        packages: what the script imports beside numpy.
    """
    blamed = scene.blamed
    names = ["numpy", *packages]
    seen = f"{one_line(blamed.component)} {one_line(blamed.version)}".strip()
    codes = "Exit code 1 where it shows, 0 where not, 2 where it cannot be told."
    lines = [f"Seen with {seen}; needs {', '.join(names)}. {codes}"]
    witnesses = ", ".join(f"{one_line(w.name)} {one_line(w.version)}".strip() for w in scene.witnesses)
    if witnesses:
        lines.append(f"What is expected is what {witnesses} answer")
        lines[-1] += ", by:" if sections_of(proto) else "."
        lines += [f"  {s.name}, {s.link}" for s in sections_of(proto)]
    note = pass_note(scene)
    return [*lines, note.strip()] if note else lines


def judged_lines(scene: ReproSpec, right: str = "") -> list[str] | None:
    """How the script tells, in lines; ``None`` if it takes more than a comparison.

    Args:
        scene: what is to be shown.
        right: source of what is expected, if the script can compute it.
    """
    if scene.symptom is Symptom.REJECTION:
        return [
            "shows, got = False, None", "try:", "    got = run()", "except Exception as error:",
            '    shows, got = True, f"{type(error).__name__}: {error}"',
            'print("expected an answer, got", got)',
        ]  # fmt: skip
    if scene.symptom is Symptom.CRASH:
        return [
            "child = os.fork()", "if not child:", "    run()", "    os._exit(0)",
            "status = os.waitpid(child, 0)[1]",
            "if status and not os.WIFSIGNALED(status):", "    sys.exit(2)  # the child has said why",
            "shows = status != 0",
            'print("expected an answer, got", "a process that dies" if shows else "one")',
        ]  # fmt: skip
    answers = {w.answer for w in scene.witnesses}
    if scene.symptom is Symptom.LENIENCY:
        return None  # what has to be seen is that others refuse
    if not answers or "" in answers or not scene.output:
        return None
    expected = scene.witnesses[0].answer
    if scene.symptom in (Symptom.WRONG_DTYPE, Symptom.WRONG_SHAPE):
        if len(answers) > 1 or any(word in expected for word in ("string", "sequence", "nothing")):
            return None
        kind = '"{0.dtype.name}{1}".format(np.asarray(got), list(np.shape(got)))'
        return ["got = run()", f'got = "a sequence" if isinstance(got, list) else {kind}', f"expected = {expected}",
                'print("expected", expected, "got", got)', "shows = got != expected"]  # fmt: skip
    if scene.symptom not in (Symptom.DIFFERENCE, Symptom.NAN_INF) or scene.place is None or scene.place[0]:
        return None
    index = ", ".join(map(str, scene.place[1]))
    expected = f"np.asarray({right})[{index or '()'}]" if right else expected
    lines = [f"got = np.asarray(run())[{index or '()'}]", f"expected = {expected}",
             'print("expected", expected, "got", got)']  # fmt: skip
    if scene.symptom is Symptom.NAN_INF:
        return [*lines, "kind = lambda x: str(float(x)) if not np.isfinite(float(x)) else 0",
                "shows = kind(got) != kind(expected)"]  # fmt: skip
    if not scene.bound or not np.isfinite(scene.bound):
        return [*lines, "shows = bool(got != expected)"]
    # The witnesses may differ by rounding, which the bound has room for.
    near = f"abs(float(got) - float(expected)) <= {scene.bound!r}"
    return [*lines, f"shows = not ({near} or got != got and expected != expected)"]


def _model(proto: onnx.ModelProto, inputs: Mapping[str, Any]) -> str | None:
    """Source of ``inputs`` and ``model``, its bytes; ``None`` if that is long or needs more than helpers."""
    graph = proto.graph
    if proto.functions or any(not isinstance(v, np.ndarray) for v in inputs.values()):
        return None
    arrays = [*_arrays_in(graph), *inputs.values()]
    if not few_elements(arrays):
        return None
    weights = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    bodies: list[str] = []
    nodes = [_node(n, bodies) for n in graph.node]
    if None in nodes or not _plain_values(graph):
        return None
    opsets = ", ".join(f"helper.make_opsetid({o.domain!r}, {o.version})" for o in proto.opset_import)
    lines = [f"inputs = {_arrays(inputs)}", *([f"weights = {_arrays(weights)}"] if weights else []), *bodies]
    lines.append("nodes = [" + ",\n         ".join(map(str, nodes)) + "]")
    values = [f"[{', '.join(_info(v) for v in part)}]" for part in (graph.input, graph.output)]
    end = ", [numpy_helper.from_array(a, n) for n, a in weights.items()]" if weights else ""
    lines.append(f"sides = {values[0]}, {values[1]}")
    lines.append(f"graph = helper.make_graph(nodes, {graph.name or 'g'!r}, *sides{end})")
    lines.append(
        f"model = helper.make_model(graph, opset_imports=[{opsets}], ir_version={proto.ir_version}).SerializeToString()"
    )
    return "\n".join(lines)


def few_elements(arrays: Iterable[np.ndarray]) -> bool:
    """Whether arrays can be written down: numbers that numpy has itself, and not many of them.

    Args:
        arrays: of at most ``ELEMENTS`` elements together; no strings and complex numbers.
    """
    held = list(arrays)
    plain = all(a.dtype.isbuiltin == 1 and a.dtype.kind not in "OUSVc" for a in held)
    return plain and sum(a.size for a in held) <= ELEMENTS


def _arrays_in(graph: onnx.GraphProto) -> Iterator[np.ndarray]:
    """Initializers and constants, those of bodies included."""
    yield from map(numpy_helper.to_array, graph.initializer)
    for attribute in (a for node in graph.node for a in node.attribute):
        if attribute.type == _A.TENSOR:
            yield numpy_helper.to_array(attribute.t)
        elif attribute.type == _A.GRAPH:
            yield from _arrays_in(attribute.g)


def _plain_values(graph: onnx.GraphProto) -> bool:
    """Whether what enters and leaves is tensors, all of known element types."""
    values = (*graph.input, *graph.output)
    return not graph.sparse_initializer and all(v.type.WhichOneof("value") == "tensor_type" for v in values)


def _body(graph: onnx.GraphProto, bodies: list[str]) -> str | None:
    """The name of a body, whose source joins ``bodies``."""
    nodes = [_node(n, bodies) for n in graph.node]
    if None in nodes or not _plain_values(graph):
        return None
    values = [f"[{', '.join(_info(v) for v in part)}]" for part in (graph.input, graph.output)]
    held = ", ".join(
        f"numpy_helper.from_array({array_source(numpy_helper.to_array(t))}, {t.name!r})" for t in graph.initializer
    )
    name = f"body{len(bodies)}"
    inside = ",\n         ".join(map(str, nodes))
    bodies.append(f"{name} = helper.make_graph([{inside}], {graph.name or name!r}, {values[0]}, {values[1]}, [{held}])")
    return name


def _arrays(arrays: Mapping[str, np.ndarray]) -> str:
    return "{" + ", ".join(f"{name!r}: {array_source(a)}" for name, a in arrays.items()) + "}"


def array_source(array: np.ndarray) -> str:
    """Source of an array of numpy's own numbers, as ``np.array([...], 'float32')``; equal elements give ``np.full``,
    none give ``np.zeros``.
    """
    if array.size == 0:
        return f"np.zeros({array.shape}, {array.dtype.name!r})"
    if array.size > 1 and array.tobytes() == array.ravel()[:1].tobytes() * array.size:  # 0.0 is not -0.0
        return f"np.full({array.shape}, {special(repr(array.ravel()[0].item()))}, {array.dtype.name!r})"
    return f"np.array({special(repr(array.tolist()))}, {array.dtype.name!r})"


def _info(value: onnx.ValueInfoProto) -> str:
    kind = value.type.tensor_type
    shape: list[Any] | None = None
    if kind.HasField("shape"):
        shape = [d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in kind.shape.dim]
    name = TensorProto.DataType.Name(kind.elem_type)
    return f"helper.make_tensor_value_info({value.name!r}, onnx.TensorProto.{name}, {shape})"


def _node(node: onnx.NodeProto, bodies: list[str]) -> str | None:
    attributes: list[str] = []
    for attribute in node.attribute:
        if not attribute.name.isidentifier() or attribute.name in _TAKEN:
            return None
        if attribute.type == _A.TENSOR:
            text = f"numpy_helper.from_array({array_source(numpy_helper.to_array(attribute.t))})"
        elif attribute.type == _A.GRAPH:
            made = _body(attribute.g, bodies)
            if made is None:
                return None
            text = made
        elif attribute.type in _PLAIN:
            value = helper.get_attribute_value(attribute)
            if isinstance(value, Sequence) and not len(value):
                return None  # of an empty list helpers do not know the type
            text = special(_literal(value))
        else:
            return None
        attributes.append(f"{attribute.name}={text}")
    domain = f", domain={node.domain!r}" if node.domain else ""
    words = "".join(f", {text}" for text in attributes)
    return f"helper.make_node({node.op_type!r}, {list(node.input)}, {list(node.output)}{domain}{words})"


def _literal(value: Any) -> str:
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return f"[{', '.join(_literal(v) for v in value)}]"
    return repr(value.decode(errors="surrogateescape") if isinstance(value, bytes) else value)
