"""A language model behind an OpenAI-compatible address, which acts only through closed tools."""
