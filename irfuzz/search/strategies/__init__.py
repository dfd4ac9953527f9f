"""Which program is mutated next, and how: what came of it enters, a parent and a plan leave."""
