"""Rules about the rows, their splits and their lengths."""
