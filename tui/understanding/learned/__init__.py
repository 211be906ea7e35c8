"""Linear models learned from annotated messages, which read what the patterns leave open."""
