"""Imports configs of other trainers."""
