"""The roles of columns, the scores of pairs, and columns that nothing reads."""
