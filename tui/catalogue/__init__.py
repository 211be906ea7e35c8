"""The sentences of the assistant, one file per language, the same keys in each."""
