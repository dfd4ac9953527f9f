"""A program enters, forms of it that compute the same leave."""
