"""What is asked next, the answers on offer, and how an answer is read."""
