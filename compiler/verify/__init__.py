"""Holds every rendered file to its language before a byte is written."""
