"""Configs, flags and keys of other tools."""
