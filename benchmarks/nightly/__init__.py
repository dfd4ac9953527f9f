"""A maintainer's nights: a converter with faults that can be switched on, and what irfuzz does to its builds."""
