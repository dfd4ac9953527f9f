"""Writes models that NNSmith draws, one after the other, until it is ended; runs in an environment that has NNSmith.

``PYTHON nnsmith_models.py FOLDER [SEED] [NODES]``: with NNSmith 0.1.0 that wants PyTorch 1.12, onnx 1.14 and NumPy 1.
Each model appears as ``FOLDER/NUMBER.onnx`` once it is whole, as ``nnsmith.model_gen`` makes it with its defaults.
"""

import sys
import time
from pathlib import Path

from nnsmith.abstract.extension import activate_ext
from nnsmith.graph_gen import model_gen
from nnsmith.materialize import Model
from nnsmith.narrow_spec import auto_opset

AHEAD = 20
"""Models that wait to be taken; no more are made then, for that would take time from whoever judges them."""


def main() -> None:
    """Command line."""
    folder = Path(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    nodes = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    kind = Model.init("onnx")
    kind.add_seed_setter()
    opset = auto_opset(kind)
    activate_ext(opset=opset)
    number = 0
    while True:
        if sum(1 for _ in folder.glob("*.onnx")) >= AHEAD:
            time.sleep(0.02)
            continue
        number += 1
        try:
            drawn = model_gen(opset=opset, method="symbolic-cinit", seed=seed * 1_000_000 + number, max_nodes=nodes)
            model = kind.from_gir(drawn.make_concrete())
            model.refine_weights()
            draft = folder / f"{number}.draft"
            model.dump(str(draft))
        except Exception as error:  # noqa: BLE001 - NNSmith's own loop goes on, too
            print(f"{number}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            continue
        draft.rename(folder / f"{number}.onnx")


if __name__ == "__main__":
    main()
