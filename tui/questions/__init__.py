"""The next question, the answers it offers, and the reading of an answer."""
