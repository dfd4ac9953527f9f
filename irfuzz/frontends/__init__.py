"""Models from outside enter, programs leave."""
