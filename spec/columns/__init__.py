"""The usual names of data columns, and their roles."""
