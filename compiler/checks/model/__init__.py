"""Rules about the model: its files, its tokenizer, and how it is trained."""
