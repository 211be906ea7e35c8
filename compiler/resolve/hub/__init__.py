"""The Hugging Face Hub: the client, the cache on disk and partial downloads."""
