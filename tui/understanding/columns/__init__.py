"""The content of each column of the data."""
