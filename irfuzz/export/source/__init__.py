"""A program and a framework's description enter, the source of an equivalent module and its arrays leave."""
