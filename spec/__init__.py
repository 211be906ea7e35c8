"""The spec language: the schema, loading, validation, the typed spec and its findings."""
