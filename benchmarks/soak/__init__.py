"""Campaigns under hard conditions, watched from outside: what they get done, say, overrun and leave behind."""
