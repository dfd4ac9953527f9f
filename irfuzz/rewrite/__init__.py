"""Rewrites a program into other forms that compute the same."""
