"""Builds the shipped seed models and their ``index.toml`` from data sets."""
