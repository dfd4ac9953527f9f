"""The command line: its parser, its flags and what it shows; the commands stand in ``commands``."""
