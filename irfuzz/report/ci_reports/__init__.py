"""Writes what a campaign found in the formats that build servers read."""
