"""The history of sent messages, as in a line editor."""

from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class History:
    """Sent messages, the oldest first; `place` is the index of the one shown, or one past the last.

    `unsent` is the unsent message, which is shown again at the end.
    """

    messages: list[str] = field(default_factory=list)
    place: int = 0
    unsent: str = ""

    def __post_init__(self) -> None:
        """Start after the last message."""
        self.place = len(self.messages)

    def add(self, text: str) -> None:
        """Add a sent message, unless it is blank or repeats the one before."""
        if text.strip() and self.messages[-1:] != [text]:
            self.messages.append(text)
        self.place, self.unsent = len(self.messages), ""

    def older(self, shown: str) -> str | None:
        """Return the message before the one shown; None at the first."""
        if self.place == 0:
            return None
        if self.place == len(self.messages):
            self.unsent = shown
        self.place -= 1
        return self.messages[self.place]

    def newer(self) -> str | None:
        """Return the message after the one shown, finally the unsent one; None after that."""
        if self.place == len(self.messages):
            return None
        self.place += 1
        return self.unsent if self.place == len(self.messages) else self.messages[self.place]
