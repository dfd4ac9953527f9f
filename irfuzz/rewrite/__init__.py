"""Rewrites a program into other forms that compute the same.

A component can be tested against itself: it has to compute the same for every form of one program. That finds faults
that all runtimes share, and an optimiser meets one computation in many forms (EAGLE, ICSE 2022; docs/equivalence.md).
It works only if a rewrite keeps its promise: a wrong rewrite would blame components that are right.

What every file relies on:

* A rewrite promises ``BITWISE`` (every element is the same number, zeros keep their sign) or ``BOUNDED`` (rounding
  errors at most). How far a bounded form may be off is not decided here but by
  ``irfuzz/oracle/equivalent_form_comparison.py``.
* ``sites`` gives the places at which the side conditions make the promise true; they follow from the facts of the
  program. ``apply`` returns ``Skipped`` before it edits anything, or a sentence.
* All draws come from the given choices and are kept in the ``RewriteStep``, so a chain can be done again on the same
  program, or on one that was made smaller.
* The program that is given stays as it is; each form is a clone, and is verified before anybody runs it.

The way through the files:

* ``rewrite_rule`` has the types ``Rewrite``, ``Exactness`` and ``RewriteStep``.
* ``rule_builders`` builds a rewrite: ``rewrite_values`` (a value is computed in a roundabout way), ``rewrite_nodes`` (a
  node is replaced) and ``rewrite_by`` (a mutator that keeps the meaning). ``node_operands`` answers what they ask of a
  node.
* ``rules`` has the built-in rewrites, one family of equivalences a module.
* ``rewrite_table`` lists them all, with the mutators that keep the meaning and those of other distributions.
* ``rewrite_chain`` applies one rewrite or a chain of them, and does a recorded chain again.
* ``trial_order`` decides which are tried first: EAGLE's rules, then those with the fewest sites.

To add a rewrite, add a line to ``REWRITES`` of its module in ``rules`` (docs/extending.md has a whole module); a new
module also gets a line in ``BUILTIN`` of ``rewrite_table``. ``tests/rewrite/test_sound.py`` runs nearly all of them on
small programs in float64 and fails if none of the programs has a site for one; rewrites of integers and booleans can be
proved by z3 in ``tests/rewrite/test_proofs.py``. ``irfuzz equiv MODEL --rewrites NAME`` tries one alone. Another
distribution offers a ``Rewrite`` by an entry point of the group ``irfuzz.rewrites``.

Do not promise ``BITWISE`` for anything that sums in another order or rounds a step anew. Do not widen a side condition
because a runtime happens to agree: the promise has to follow from ONNX's text. Do not compare results here.
"""
