"""Rules about objectives: compared answers, rewards, a teacher, vectors."""
