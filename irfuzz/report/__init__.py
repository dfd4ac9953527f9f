"""A stored finding enters, a folder that anyone can replay and paste into a bug report leaves."""
