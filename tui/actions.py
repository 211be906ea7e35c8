"""The table of actions: the footer, the help screen and the command palette are made from it."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """Something the assistant can be told: a key, and the words that mean the same in the chat.

    `key` is Textual's name of the key; `label` and `help` are keys of the catalogue.
    `says` is the message that is sent in the person's place, None for what only the screen does.
    """

    name: str
    key: str
    says: str | None = None
    in_footer: bool = False

    @property
    def label(self) -> str:
        """The short verb's key in the catalogue."""
        return f"action.{self.name}"

    @property
    def help(self) -> str:
        """The explaining sentence's key in the catalogue."""
        return f"action.{self.name}.help"


ACTIONS: Final = (
    Action(name="help", key="f1", in_footer=True),
    Action(name="why", key="f2", says="why", in_footer=True),
    Action(name="unsure", key="f3", says="I don't know", in_footer=True),
    Action(name="show", key="f4", says="show the spec"),
    Action(name="plan", key="f5", says="plan"),
    Action(name="undo", key="ctrl+z", says="undo", in_footer=True),
    Action(name="redo", key="ctrl+y", says="redo"),
    Action(name="save", key="ctrl+s", says="save"),
    Action(name="compile", key="f9", says="compile", in_footer=True),
    Action(name="restart", key="ctrl+n", says="start again"),
    Action(name="cancel", key="escape"),
    Action(name="next_pane", key="f6"),
    Action(name="leave", key="ctrl+q", in_footer=True),
)
