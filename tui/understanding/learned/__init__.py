"""Linear models learned from annotated messages, for words that no pattern reads."""
