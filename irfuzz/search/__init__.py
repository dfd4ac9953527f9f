"""Decides from what was seen before what to try next."""
