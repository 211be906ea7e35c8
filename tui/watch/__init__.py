"""Watching a run: what its scripts have written, live or after the fact."""
