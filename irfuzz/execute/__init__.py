"""Programs and inputs enter, what each target did with them leaves."""
