"""Handler of three variants of one component (``irfuzz.execute.adapters.adapter``): options say how each behaves."""

import ctypes
import os
import time

STATE = {"calls": 0}


def handle(request, values):
    if request["do"] == "describe":
        return {"version": "7"}, []
    STATE["calls"] += 1
    runs, outputs = [], []
    for index, options in enumerate(request["variants"]):
        os.write(2, b"irfuzz-at %d run\n" % index)
        behaviour = options["behaviour"]
        if behaviour == "crash" or (behaviour == "crash after others" and index):
            ctypes.string_at(0)
        if behaviour == "raise":
            raise NotImplementedError("nothing of the kind")
        if behaviour == "hang":
            time.sleep(60)
        if behaviour == "reject":
            runs.append({"stage": "compile", "exit": "rejected", "error": "Fail: no", "seconds": 0.0})
            continue
        runs.append({"stage": "run", "exit": "ok", "outputs": [{"name": "y"}], "seconds": 0.0})
        outputs.append(values[1])
    return {"runs": runs}, outputs
