"""Data facts: the files, what their rows hold, and how long the rows are."""
