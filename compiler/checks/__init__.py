"""The rules: one registry, one pass, one list of findings."""
