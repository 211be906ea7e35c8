"""Architectures: the layers and tensors of a model, from its `config.json` alone."""
