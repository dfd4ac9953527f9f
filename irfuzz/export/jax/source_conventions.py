"""What generated JAX source looks like."""

from __future__ import annotations

from dataclasses import replace

from irfuzz.export.array.source_conventions import ARRAY

JAX = replace(
    ARRAY,
    component="jax",
    title="JAX",
    replacements="irfuzz.export.jax.support",
    array_module="import numpy",
    imports=(
        ("", "import jax"),
        ("ml_dtypes.", "import ml_dtypes"),
        ("", "from jax import numpy as jnp"),
        ("special.", "from jax.scipy import special"),
        ("", ""),
        ("", 'jax.config.update("jax_enable_x64", True)  # ONNX has types of 64 bits'),
    ),
    reserved=frozenset({"jax", "jnp", "ml_dtypes", "np", "numpy", "special"}),
    run=("    outputs = forward(*tensors(arrays, inputs))", "    return jax.tree.map(to_array, outputs)"),
    always=frozenset({"to_tensor", "to_weight", "to_array"}),
    weight="to_weight",
)
"""What the exporters must know of JAX to write its source."""
