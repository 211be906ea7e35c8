"""Compiles a spec: facts, plan, checks, and the files of a bundle."""
