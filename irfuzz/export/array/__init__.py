"""Writes a program as the source of an equivalent NumPy module and its arrays.

PyTorch's and TensorFlow's lowerings come of one reading of ONNX, and a mistake in it would make both agree. This one
reads operators by itself: a node becomes ``function(inputs..., attribute=value...)`` with ONNX's own names and
defaults, and its support functions choose axes, indices, forms and arithmetic. So NumPy is a witness by itself, of
values but not of shapes (docs/oracles.md, "Who is right"); it also replaces PyTorch if that is not installed.

What every file relies on:

* Nothing that reads an operator is shared with ``irfuzz/export/source``: only what writes modules
  (``program_to_module_source``, ``FrameworkDescription``, ``EmitterContext`` without its methods for attributes and
  forms) and ``size_arithmetic``. ``tests/export/test_independence.py`` lists the names, and breaks the shared reading
  to see that results stay.
* Defaults come from onnx's schemas at the program's opset. An attribute that no parameter takes is refused, unless the
  line in the table names it as one that changes nothing (``ignored``).
* What would round more than once in a narrower type is computed in float64 and rounded once at the end.
* What ONNX leaves open, contradicts or says too little about is refused with a reason.

The way through the files:

* ``generic_call_emitters`` has what makes emitters: ``op``, ``elementwise``, ``infix``, ``binary``, ``before`` and
  ``unless``.
* ``emitter_table`` has one line for each operator.
* ``special_case_emitters`` has nodes that are more than one call, ``control_flow_nodes`` makes bodies into functions.
* ``unsupported_cases`` has the refusals, each a function that returns a reason or nothing.
* ``source_conventions`` describes NumPy, and ``support`` has the functions, a family of operators a module.

To add an operator, write a function in ``support`` whose parameters are the operator's inputs and attributes, and add
``"Name": op("function")`` to ``EMITTERS``; if NumPy has the function itself, ``op("np.abs")`` is enough. If an
attribute became an input in some version, one parameter takes either. Wrap the line in ``unless`` with a function of
``unsupported_cases`` for what ONNX leaves open. ``tests/export`` runs ONNX's cases and drawn calls; add corners to
``tests/export/test_semantics.py``.

Do not import an emitter or a support function of another lowering, and do not copy one: two copies of a mistake agree.
Do not use a shortcut in float32. Do not call ``ctx.attr``, ``ctx.form``, ``ctx.ints``, ``ctx.is_float`` or
``ctx.is_plain``.
"""

from functools import partial

from irfuzz.export.array.source_conventions import ARRAY
from irfuzz.export.source import program_to_module_source
from irfuzz.export.source.module_source import ModuleSource

__all__ = ["ModuleSource", "lower", "lower_model"]

lower = partial(program_to_module_source.lower, ARRAY)
lower_model = partial(program_to_module_source.lower_model, ARRAY)
