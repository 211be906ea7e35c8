"""The table of well-known models, their names and licences."""
