"""The languages of the assistant: sentences, field names, and language detection."""
