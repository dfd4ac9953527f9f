"""Programs with known numeric faults, each with a mended twin, and what the abstractions say of them."""
