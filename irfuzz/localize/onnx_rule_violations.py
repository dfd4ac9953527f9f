"""Rules of ONNX that a program breaks with the sizes of a run: who refuses it is right, and its message is no help."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from irfuzz.errors import InvalidProgram
from irfuzz.execute.run_types import Value
from irfuzz.ir.verifier import verify
from irfuzz.oracle.dataflow.concrete_size_substitution import sized_strictly

if TYPE_CHECKING:
    from irfuzz.ir.program import Program


def broken_rules(program: Program, inputs: Mapping[str, Value]) -> tuple[str, ...]:
    """One line for each rule that a call breaks once the inputs have the sizes that were fed; most often none.

    Rules are those of ``ops/``, which hold what ONNX's text demands beyond its schemas. A size or value that is not
    known breaks none.

    Args:
        program: stays as it is.
        inputs: values by graph input name.
    """
    try:
        whole = sized_strictly(program, inputs)
    except InvalidProgram as error:
        return (str(error).splitlines()[0],)
    found: list[str] = []
    for node in whole.graph.all_nodes() if verify(whole) else ():
        name = node.name or next((o.name for o in node.outputs if o.name), "")
        broken = [p.message for p in verify(whole, nodes=[node]) if not p.where.startswith("output ")]
        found += [f"{node.op_type} {name!r}: {message} (ONNX-{program.opset})" for message in broken]
    return tuple(dict.fromkeys(found))
