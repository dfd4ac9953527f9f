"""The public calls, which take a model in any form and give typed results; the commands of ``irfuzz`` print these.

One module a call (``check``, ``analyze``, ...), each with the function of that name and the dataclass that it returns.
``irfuzz/__init__.py`` exports them; docs/python.md shows them.

What holds for all of them:

* A model is whatever ``mutate.traced_mutant_generation.load`` takes, or a ``LoadedModel``: one that was read before,
  with what is said of its inputs (``loaded_model``, ``input_settings_merging``). Commands make the latter of flags,
  so flags and arguments mean the same.
* Nothing is printed and nobody exits. Progress, remarks ("these sizes were not found") and what is known so far go to
  ``progress=``, a function that takes an ``Update``; a command shows them on standard error.
* Errors are those of ``irfuzz.errors``. A message about an argument begins with its name and a colon (``ops: ...``),
  so that a command can put its flag in that place (``cli.parser.as_flags``).
* Results are frozen, have ``to_json()`` and can be printed: ``str(result)`` is what the command prints.

``project`` sets a user's project up for campaigns in its build; ``stored_finding_replays`` replays what an earlier
campaign has stored before the next one.

To add a call: a module here, a line in ``irfuzz/__init__.py``, an example in its docstring and in docs/python.md. What
it does belongs into the folders above; here models are read, defaults chosen, workers started and results put together.
"""
