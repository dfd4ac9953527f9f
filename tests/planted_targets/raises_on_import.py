"""A module that raises when it is imported."""

raise RuntimeError("half of it was never installed")


class Target:
    """Never reached."""
