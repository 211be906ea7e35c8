"""Watches a run by the files that its scripts write, live or after the fact."""
