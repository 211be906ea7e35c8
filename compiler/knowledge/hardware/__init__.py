"""Accelerators and cloud instances."""
