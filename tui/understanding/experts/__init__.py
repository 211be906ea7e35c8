"""Abbreviations in experts' lines."""
