"""Rewards of our own for sums: an answer may reason, and should not ramble."""


def is_brief(completions, **kwargs):
    """Reward an answer of at most forty words, and less each word beyond."""
    return [max(0.0, min(1.0, 2 - len(text.split()) / 40)) for text in completions]
