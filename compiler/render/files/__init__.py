"""The files of a bundle that are built as data."""
