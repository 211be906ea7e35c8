"""The rule book: one registry, one pass, one list of findings."""
