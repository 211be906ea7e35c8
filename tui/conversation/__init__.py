"""A conversation: its state, its answers to questions, and the handlers of requests."""
