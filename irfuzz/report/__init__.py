"""Writes a stored finding as a folder that anyone can replay and paste into a bug report."""
