"""A program and recorded choices enter, a valid mutant and its trace leave; the package is called like a function."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from irfuzz.mutate.api import TracedMutant


class _CallablePackage(ModuleType):
    """The public function ``irfuzz.mutate`` and this package have one name, so the package answers its calls."""

    def __call__(self, *args: Any, **kwargs: Any) -> Iterator[TracedMutant]:
        from irfuzz.mutate.api import mutate

        return mutate(*args, **kwargs)


# Python's own way to customise a module (reference, "Customizing module attribute access").
sys.modules[__name__].__class__ = _CallablePackage
