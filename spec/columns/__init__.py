"""Columns of data: their usual names, and the roles that they stand for."""
