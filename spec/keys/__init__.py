"""Unknown keys, and the fields that they most likely mean."""
