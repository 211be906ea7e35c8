"""Reads fields by their names, in the many forms that people use."""
