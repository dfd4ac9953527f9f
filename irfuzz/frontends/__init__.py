"""Reads models of other frameworks and files as programs."""
