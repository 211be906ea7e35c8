"""Words, numbers and sentences of a message, before anything is read from them."""
