"""Model facts: the folder, its config, its weights and the bundle that makes it."""
