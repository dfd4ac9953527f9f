"""Extensions of irfuzz, as another distribution brings them."""
