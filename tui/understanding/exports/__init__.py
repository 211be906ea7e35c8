"""What is exported and published, and the name of a run."""
