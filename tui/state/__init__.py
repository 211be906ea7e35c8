"""What a conversation is about: draft, facts and plan, goals, limits, files, and what is saved."""
