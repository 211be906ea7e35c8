"""Rows: how files are read and what one row means."""
