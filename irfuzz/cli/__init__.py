"""Reads the command line: its parser, its flags and what it shows; the commands are in ``commands``.

A command does little: it turns flags into the arguments of a call, shows how far that is, and prints what comes back.
If ``irfuzz.api`` has the call, the command makes that call, so flags and arguments mean the same and a person sees what
a program gets. What is hard about a command line is the rest, and it is solved here once: one line for every mistake,
Ctrl-C that ends any command in time, quick ``--help``, and output that a pipe can read (docs/cli.md).

What every file relies on:

* Exit codes: 0 well, 1 findings (of ``fuzz`` those that ``--fail-on`` names) or a disagreement, 2 bad input, 3 an error
  of irfuzz itself, 130 after Ctrl-C.
* A mistake of the user is one line on standard error that names the flag or file and the reason. With 2 nothing is on
  standard output, and nothing new is on the disk: folders that were made and stayed empty are removed.
* Results go to standard output, and progress and remarks to standard error. ``-q`` prints no progress, for every
  command. ``--json`` prints JSON instead of text.
* Ctrl-C ends a command within two seconds, with what is known so far printed. A command registers that text by
  ``interrupt_handling.telling``.
* Heavy imports are inside functions, so that ``--help`` is quick.
* What comes from a model or a component is cleaned by ``irfuzz/report/terminal_text_cleaning.py`` before it is shown.

The way through the files:

* ``main`` lists the commands, runs one and turns exceptions into exit codes.
* ``parser`` parses words, and has the types of flags (times, shares, names); ``as_flags`` replaces an argument's name
  at the beginning of a message by its flag.
* ``commands`` has one module a command; read ``check`` first. ``fleet_commands`` has those of many machines.
* ``flags_from_toml`` reads flags that a project has written down in ``irfuzz.toml`` or ``pyproject.toml``.
* ``input_flags`` and ``sample_flags`` are flags that several commands share; ``model_reading_and_output_checks``
  reads the models that are given and tries whether results can be written; ``model_writer`` writes models with their
  traces.
* ``progress_display`` shows what a long command does, ``campaign_display`` how far a campaign is, in a terminal by
  ``campaign_screen``.
* ``shell_completion`` writes what a shell reads to complete commands.
* ``interrupt_handling`` handles Ctrl-C.
* ``ci_reporting`` has the flags of a campaign in a build, and what its server reads.

To add a command, write a module in ``commands`` with ``NAME``, ``ABOUT``, ``EXAMPLES``, ``arguments`` and ``run``,
import it in ``main`` and add it to ``_MODULES``, and add a row to docs/cli.md. ``tests/cli/test_commands.py`` checks
help and examples of every command, ``tests/test_docs.py`` runs the commands that docs show, and wrong flags of it
belong into ``tests/cli/test_bad_input.py``. To add a flag, add it in ``arguments`` of its command, or in
``input_flags`` if several commands take it; its default comes from ``irfuzz/api/default_settings.py`` if the call has
one.

Do not compute anything here that a Python caller might want: it belongs into ``irfuzz/api`` or one of the folders that
it uses. Do not call ``sys.exit`` or print an error yourself: raise an error of ``irfuzz.errors``. Do not import a
framework.
"""
