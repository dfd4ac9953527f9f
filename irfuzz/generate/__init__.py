"""Programs from nothing or from larger ones, and inputs; the package is called like a function."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from irfuzz.generate.fresh import Generated


class _CallablePackage(ModuleType):
    """The public function ``irfuzz.generate`` and this package have one name, so the package answers its calls."""

    def __call__(self, **kwargs: Any) -> Iterator[Generated]:
        from irfuzz.generate.fresh import generate

        return generate(**kwargs)


# Python's own way to customise a module (reference, "Customizing module attribute access").
sys.modules[__name__].__class__ = _CallablePackage
