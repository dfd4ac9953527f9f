"""Keeps programs and findings in a database."""
