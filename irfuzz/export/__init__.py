"""A program enters, source code or a model file of another framework leaves."""
