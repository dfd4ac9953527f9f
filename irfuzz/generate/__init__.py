"""Programs and inputs from nothing but a seed."""
