"""The table of actions: the footer, the help screen and the command palette are made from it."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One action of the assistant: a key, and the message that does the same in the chat.

    `key` is Textual's name of the key; `label` and `help` are keys of the catalogue.
    `says` is the message that the key sends; None for an action of the screen alone.
    """

    name: str
    key: str
    says: str | None = None
    in_footer: bool = False

    @property
    def label(self) -> str:
        """The catalogue key of the short label."""
        return f"action.{self.name}"

    @property
    def help(self) -> str:
        """The catalogue key of the help sentence."""
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
