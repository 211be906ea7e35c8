"""Findings and the explanations of their codes."""
