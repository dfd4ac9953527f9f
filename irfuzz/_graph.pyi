from collections.abc import Callable
from typing import Any

import onnx_ir as ir

class NodeWriter:
    def __init__(
        self,
        value: type,
        key: str,
        graph_kinds: tuple[Any, ...],
        attribute: Callable[[ir.Attr], bytes],
        seldom: Callable[[ir.Node], bytes],
    ) -> None: ...
    def write(self, field: int, graph: ir.Graph) -> tuple[bytes, list[ir.Value]]: ...
