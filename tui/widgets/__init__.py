"""The widgets of the assistant's screen."""
