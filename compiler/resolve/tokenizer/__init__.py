"""Tokenizer facts: special tokens, conversion to GGUF and the vocabulary's size."""
