"""Chat templates: rendering within bounds, and their counterparts in Ollama."""
