# pyright: basic, reportAttributeAccessIssue=false, reportMissingImports=false
"""NumPy's functions by name: JAX's if an argument is an array of JAX's, NumPy's own for what is known before."""

from __future__ import annotations

import jax
import numpy  # noqa: ICN001 - ``np`` is the name of what stands for it
from jax import numpy as jnp


class Arrays:
    """``np`` of the support functions; types and constants are NumPy's."""

    def __init__(self, plain, own):
        self.plain = plain
        self.own = own

    def __getattr__(self, name):
        plain = getattr(self.plain, name)
        own = getattr(self.own, name, plain)
        if isinstance(plain, type(numpy)):
            return Arrays(plain, own)
        if isinstance(plain, type) or not callable(plain):
            return plain

        def chosen(*given, **how):
            if not any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves((given, how))):
                with numpy.errstate(all="ignore"):
                    return plain(*given, **how)
            if name == "argsort":
                return own(*given, stable=how.get("kind") == "stable")
            if name == "take" and isinstance(given[1], list):
                given = (given[0], numpy.array(given[1]), *given[2:])
            return own(*given, **how)

        return chosen


np = Arrays(numpy, jnp)


def known(x):
    """``x`` as an array of NumPy's; under ``jax.jit`` JAX raises if it depends on an input."""
    return numpy.asarray(x)
