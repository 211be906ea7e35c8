"""Rules about what is exported, verified and published."""
