"""Messages for tests that need any text at all."""

from ftc.spec.message import Message


def say(text: str) -> Message:
    """Return a message that is this text in every language."""
    return Message("phrase.either", {"options": [text]})
