"""What the files of the weights tell: their tensors, and where these contradict the config."""
