"""Coverage of operator calls (COMET, section 3.2; GraphFuzz), as shares of a fixed space."""
