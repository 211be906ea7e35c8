"""What becomes of a finished draft: the spec, the bundle, and running it."""
