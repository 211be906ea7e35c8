"""Decides whether the words of a message request the values in it, or only report them."""
