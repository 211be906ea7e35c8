"""Columns: which column is what, the scores of pairs, and columns that nothing reads."""
