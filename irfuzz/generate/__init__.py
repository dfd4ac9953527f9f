"""Makes programs from nothing or from larger ones, and inputs; ``irfuzz.generate`` is ``random_programs.generate``.

Published models are large and few, and most of their calls are alike. Small programs run faster, are made smaller in
less time, and hide no fault behind another. So this folder makes them in three ways: it grows a program call by call
from the operator specs, it starts from a single node that mutation then grows, or it keeps of a large model a few nodes
that cover the same calls (COMET, algorithm 1). It also makes what a program is fed with.

What every file relies on:

* A program is valid when it is made: what a value may be put into is decided before it is, and the result is verified.
* Equal arguments give equal bytes in every process. A generated program has a trace that holds every draw.
* An input's content depends on the seed, its name, its type and its limits alone, so an edit elsewhere in the program
  leaves it as it is.
* An input that is used as an index, a shape, an axis, a length or a divisor stays within what its users allow, also
  through casts, reshapes, arithmetic with constants, bodies and functions.
* What a user says of inputs (``InputSpec``) is never overruled. What is decided is written into the metadata of the
  input (``irfuzz/ir/input_domain.py``), so that mutants keep to it.

The way through the files:

* ``random_programs`` is ``irfuzz.generate`` with its traces; ``program_growth`` adds calls to a growing program, and
  ``topologies`` decides how they are put together (``free``, ``chain``, ``cell``).
* ``one_node_programs`` has the programs of one Identity from which six in ten programs of a campaign grow;
  ``drawn_call_programs`` puts a drawn call of a given operator into one.
* ``covering_program_synthesis`` is ``irfuzz.synthesize``; its steps are in ``synthesis_steps``.
* ``input_values`` has ``make_inputs``; ``graph_inputs`` gives it the limits.
* ``input_spec`` is what a user says; ``input_planning`` decides what a model leaves open.

To add a topology, write a function of a ``Growth`` and a number of nodes, and add a line to ``TOPOLOGIES``; raise
``VERSION`` of ``random_programs`` if the same draws give another program. To add a limit of an operator's input, give
the operator the trait ``drawn_elements`` and, if it needs a new rule, a function in
``graph_inputs/operator_input_limits.py``. The tests are in ``tests/generate``.

Do not make something and throw it away because it is invalid: decide before. Do not import a folder that runs programs:
if sizes have to be tried, a run is a callable that is passed in. Do not draw from anything but the seed or the choices
that are given.
"""
