"""Reads exports, publishing, and the name of a run."""
