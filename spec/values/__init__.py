"""Values of fields: which ones are valid, and what an invalid one most likely means."""
