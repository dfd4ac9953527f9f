"""Stands before the real package on the path, as in an environment that does not have it."""

raise ModuleNotFoundError("No module named 'ml_dtypes'", name="ml_dtypes")
