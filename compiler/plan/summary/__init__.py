"""Summaries of a plan: the headline, the memory bars and alternatives that fit."""
