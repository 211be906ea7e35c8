"""Batches: their sizes, the lengths of rows, and how rows are packed or arranged."""
