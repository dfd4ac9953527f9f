"""Coverage of operator calls (COMET, section 3.2; GraphFuzz): programs enter, shares of a fixed space leave."""
