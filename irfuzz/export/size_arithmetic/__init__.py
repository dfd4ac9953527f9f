"""What a lowering computes with sizes alone, before any element: paddings, window counts, positions, shapes.

ONNX fixes these integers, and there is one way to get them right; two copies would only be wrong together. Elements are
another matter: the lowerings are witnesses against each other, so that arithmetic and the computation of indices stand
in each framework's own support functions (``export/torch/support``, ``export/tensorflow/support``), never here.

The functions take and give integers, and lists and tuples of them (``windows``, ``positions``, ``shapes``,
``resizing``). They need no framework, know no tensors, and are used in two places:

- Support functions call them when the module runs, since a size may only be known then. A generated module carries
  those that it uses, ahead of the framework's (``export/source/support_text.py``), so that they have no annotations
  and use nothing but ``math`` and ``np``. A size that only the graph knows may be a scalar tensor: what is merely
  added, multiplied and divided works with those, too.
- Emitters call them while they write, if every size has to be known then (``export/keras``).

A new lowering imports them in its support package; nothing else is needed for its modules to carry them. A name may
stand in one of both only.
"""
