"""What the assistant's screen is made of."""
