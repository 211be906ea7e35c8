"""Keys that the schema does not have, and what was meant by them."""
