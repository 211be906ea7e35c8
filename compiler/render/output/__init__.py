"""Rendering: the types that a template may print, and the layout of the output."""
