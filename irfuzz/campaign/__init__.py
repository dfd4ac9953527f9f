"""Runs campaigns: the only place that wires everything."""
