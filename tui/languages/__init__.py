"""The languages of the assistant: sentences, names of fields, and which one a message is in."""
