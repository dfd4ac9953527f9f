"""The papers' subjects and bugs, rebuilt or run from a checkout of theirs."""
