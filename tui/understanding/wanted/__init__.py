"""Whether the words of a message request the values in it, or only tell of them."""
