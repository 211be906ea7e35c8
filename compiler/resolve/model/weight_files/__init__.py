"""Weight files: their tensors, and where these contradict the config."""
