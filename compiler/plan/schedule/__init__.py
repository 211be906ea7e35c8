"""The schedule: steps, learning rate and the training loop."""
