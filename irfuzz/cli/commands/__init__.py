"""One module a command of `irfuzz`, with its flags, its call of the Python API and its printed result.

Each module has NAME, ABOUT and EXAMPLES, and the functions `arguments` and `run`; `run` returns the exit code. Heavy
imports stand inside functions, so that `--help` is quick.

Read `check` as an example, then `irfuzz/cli/main`, which lists all commands.

A new command is a module here and a line in `main`. What it computes belongs into `irfuzz/api/`, and flags that
several commands share into `irfuzz/cli/`; do not put logic here.
"""
