"""Makes a failing case small: searches for the smallest program and inputs that still fail.

A finding of two nodes is understood at a glance, and one of two hundred is not. Making a case small means running it
hundreds of times, so it has a budget, and the passes that remove most for the fewest tries come first. The predicate is
the caller's: a fault of a campaign, a contradiction of two forms, or a user's command.

What every file relies on:

* The predicate (``still``) is asked about valid programs only, and not again about a case that did not fail. It may be
  called from several threads if ``jobs`` is more than 1; the result is the same for any number as long as time does not
  end it.
* A pass never edits the best case. It offers changes to the ``Session``, which applies each to a clone, removes what is
  unused, verifies it, asks the predicate, and keeps it if it still fails.
* Each pass makes a case smaller or plainer by some measure of its own, so that the loop ends.
* Every pass tries in an order that depends on the case alone. Nothing is drawn.
* If time or tries run out, the best case by then is the result (``Reduced.complete`` is False).
* The program that was given stays as it is.

The way through the files:

* ``pass_loop`` is the whole: the passes in their order (``STRUCTURE``, ``DATA``, ``LOOKS``) and the loop.
* ``session`` has the best case, the budget, and what a pass may ask; ``Still`` and ``ValuesOf`` are the types of what
  callers pass in.
* ``passes`` has the passes, a kind a module.
* ``inner_value_computation`` computes inner values on a quick runtime, so that a program can be cut in the middle.
* ``interestingness_command`` makes a predicate of a user's command, and ``resume_folder`` lets ``irfuzz reduce`` go
  on with a reduction that was interrupted; ``kill -9`` loses at most the candidates in flight.

To add a pass, write a function from a ``Session`` to whether it made the case smaller, and add it to a tuple of
``pass_loop`` at the place that fits what it removes and costs. ``tests/reduce/test_passes.py`` fails until it has a
test of the pass's name; ``tests/reduce/test_pass_loop.py`` runs the whole loop on real models, odd programs and planted
faults.

Do not count tries or look at the clock in a pass: the session raises ``OutOfBudget``. Do not decide here whether a
candidate shows the same fault: ``irfuzz/findings/fault_predicate.py`` does that for campaigns. Do not repair a
candidate that is invalid; it is dropped.
"""

from __future__ import annotations

from irfuzz.reduce.pass_loop import reduce_case
from irfuzz.reduce.session import Reduced, Still, ValuesOf

__all__ = ["Reduced", "Still", "ValuesOf", "reduce_case"]
