"""Answers of several targets enter, verdicts leave."""
