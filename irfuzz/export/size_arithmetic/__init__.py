"""Computes for a lowering what depends on sizes alone, before any element: paddings, window counts, positions, shapes.

ONNX fixes these integers, and there is one way to get them right; two copies would only be wrong together. Elements are
another matter: the lowerings are witnesses against each other, so that arithmetic and the computation of indices stand
in each framework's own support functions (``export/torch/support``, ``export/tensorflow/support``,
``export/array/support``), never here. Since NumPy's lowering shares this folder with the others, NumPy is a witness of
values and not of shapes.

What every file relies on:

* The functions take and give integers, and lists and tuples of them. They need no framework and know no tensors.
* A generated module carries the functions that it uses as text, ahead of the framework's own
  (``export/source/support_function_source.py``). So they have no annotations, and they use nothing but each other,
  ``math`` and ``np``.
* A size that only the graph knows may be a scalar tensor: what is merely added, multiplied and divided works with
  those, too.
* A name is defined either here or in a ``support`` package, not in both.

They are used in two places: support functions call them when the module runs, since a size may only be known then; and
emitters call them while they write, if every size has to be known then (``export/keras``).

The way through the files: ``window_sizes`` has paddings, window counts and crops of convolutions and pools;
``slice_and_pad_positions`` has what is cut out of axes, put around or counted; ``resized_axes`` has the lengths of
resampled axes; ``result_shapes`` has axes and shapes that follow from shapes and attributes.

To add a function, put it into the module of its kind and import it in the ``support`` modules that need it; nothing
else is needed for generated modules to carry it. ``tests/export/test_plan.py`` compares these functions with what
onnx's inference and Python's own slices say, and checks that no framework is imported here.

Do not compute indices of elements, weights of interpolation or anything else that decides a value. Do not follow a
runtime if ONNX's text decides.
"""
