"""A shop: the code under test. Never changed, and imports nothing: every test loads it."""
