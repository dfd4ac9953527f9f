"""Functions that generated modules carry with them; read as text by ``support_text``, never imported by irfuzz."""
