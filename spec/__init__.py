"""What can be said: the schema, loading, validation, the typed spec and its findings."""
