"""Finds the node at which targets that disagree on a program part."""
