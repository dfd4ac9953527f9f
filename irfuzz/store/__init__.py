"""Programs and findings enter a database and come back."""
