"""Finds values that a message mentions without requesting them."""
