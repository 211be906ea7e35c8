"""The sentences of the assistant: one file per language, with the same keys in each."""
