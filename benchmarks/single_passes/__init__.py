"""Each pass of an optimiser alone, on programs of irfuzz or on models of NNSmith.

``nightly`` draws and judges; ``nnsmith_models`` writes models in an environment of NNSmith's own, for comparison.
"""
