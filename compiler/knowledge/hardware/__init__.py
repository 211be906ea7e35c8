"""Accelerators, and where they can be rented."""
