"""The state of a conversation: draft, facts, plan, goals, limits, files, and saved state."""
