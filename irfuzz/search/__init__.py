"""What was seen before enters, what to try next leaves."""
