"""Which program is mutated next, and how."""
