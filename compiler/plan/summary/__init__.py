"""What a plan says in short: the headline, the memory bars and what else would fit."""
