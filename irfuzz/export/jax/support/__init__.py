"""Functions of JAX modules that stand beside, or for, those of NumPy's; read as text by ``support_text``."""
