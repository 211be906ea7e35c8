"""Reads messages in English, Catalan or Spanish as changes to a spec."""
