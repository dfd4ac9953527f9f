"""One module for each step from one version of the store's tables to the next."""
