"""The layers and tensors of a model, computed from its `config.json` alone."""
