"""Multimodal classes: the language model and the towers inside."""
