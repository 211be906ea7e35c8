"""The sentences of findings and failures by key: one file per language, the same keys in each."""
