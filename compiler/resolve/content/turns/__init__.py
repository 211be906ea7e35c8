"""What the turns of a conversation hold: tools, calls and their results, and what is no turn."""
