"""From facts to numbers: every number a decision with its reason."""
