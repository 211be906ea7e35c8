"""Jinja templates of the bundle, as data."""
