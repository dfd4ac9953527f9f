"""Other versions of components, each in an environment of its own.

An environment is complete or it is not listed; nothing is changed in the interpreter that irfuzz runs in.

Read `environments` (which exist), `installation` (how one is built), `releases` (which versions the package index has
and which are worth comparing) and `interpreters` (which Python a version needs).

A component that comes as another distribution gets its name in its adapter. Do not import an installed component
here: its worker is asked.
"""
