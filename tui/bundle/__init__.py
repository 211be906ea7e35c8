"""Finishes a draft: writes the spec and the bundle, and runs it."""
