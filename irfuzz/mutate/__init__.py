"""Mutates programs: valid mutants by recorded choices, each with a trace; ``irfuzz.mutate`` is in
``traced_mutant_generation``.

A mutant is mostly worth running only if every runtime has to take it, and it is worth keeping only if it can be made
again. So a mutator predicts what its edit will do before it edits, the engine verifies what was touched afterwards, and
every draw is recorded: a trace holds the seed's hash and the draws of each edit, and from these the same bytes come
again.

What every file relies on:

* A mutator checks first and edits second. What cannot be done is a ``Skipped`` with a reason, and the program is then
  exactly what it was. A result that breaks a rule is taken back and counted, unless the mutator's relation is
  ``INVALID``.
* Every random decision comes from the ``Choices`` that the mutator is given. What was seen before, and what is not
  covered yet (``Context``), may steer which choice is drawn; it never changes what a drawn choice means.
* ``version`` is raised whenever the same draws would give another program. A replay refuses another version.
* ``relation`` is what an edit does to the meaning: ``EQUIVALENT``, ``CHANGED`` or ``INVALID``. Oracles and rewrites
  believe it.
* All that engines, searches and the lists of papers know of a mutator are attributes of its class (``Profile``).

The way through the files:

* ``mutator_protocol`` has the types (``Mutator``, ``Edit``, ``Skipped``, ``Profile``), and ``mutator_context`` what a
  mutator may ask besides the program.
* ``mutator_table`` lists all mutators; ``paper_mutator_lookup`` finds those that do what COMET, LEMON or Muffin define.
* ``mutation_engine`` draws a mutator and a site, lets it edit, verifies, and repeats recorded edits.
* ``mutation_trace`` writes a lineage as JSON and rebuilds it; ``traced_mutant_generation`` makes an endless stream of
  mutants.
* ``feature_counts`` weighs down what was seen often, and ``user_mutation_constraints`` is what a user allows;
  ``drawing_limits`` keeps campaigns to what targets take, by the traits of calls that ``call_traits`` names.
* ``editing`` has what all mutators edit with. The mutators are in ``insertion`` and ``drawn_calls`` (new calls),
  ``patterns`` (subgraphs that optimisers recognise), ``layers`` (layers that are there), ``control_flow``,
  ``model_interface`` and ``tensor_values``.

To add a mutator, write a module with one class (``name``, ``version``, ``relation``, ``profile``, ``sites``, ``apply``;
docs/extending.md has a whole one) in the folder of its kind, and add the class to ``_CLASSES`` in ``mutator_table``.
``tests/mutate/test_mutators.py`` then runs it on three models, unless it changes the interface and is listed there with
tests of its own; add a test of what its mutants compute, and a row to docs/mutators.md. Another distribution offers one
by an entry point of the group ``irfuzz.mutators``.

Do not keep a table of facts about mutators beside their classes, and do not ask for an operator's name if a trait of
``ops/`` is the same. Do not use the clock, a set's order or a global generator: the mutant would not replay. Do not run
a target here.
"""
