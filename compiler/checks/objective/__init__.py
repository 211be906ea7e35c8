"""Rules about what is learned: answers that are compared, rewards, a teacher, vectors."""
