"""Runs programs on targets and reports what each did with them."""
