from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")

class Cloner:
    def __init__(self, classify: Callable[[object], str], graph: type) -> None: ...
    def clone(self, root: _T) -> _T: ...
