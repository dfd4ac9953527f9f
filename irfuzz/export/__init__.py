"""Exports programs as source code or model files of other frameworks."""
