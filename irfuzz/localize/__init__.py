"""A program on which targets disagree enters, the node where they part leaves."""
