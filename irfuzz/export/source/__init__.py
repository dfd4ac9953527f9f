"""Writes a program as the source of an equivalent module of a framework, and its arrays."""
