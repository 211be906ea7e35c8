"""Rules about the training: precision, steps, schedule, optimizer."""
