"""Functions that generated NumPy modules carry with them; each file is a family of operators."""
