"""The tables of actions, for the footer, the help screen, the command palette and the buttons.

Each action can also be typed as a message: `words.json` has the words in three languages.
"""

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One action of the assistant: a key, and the chat message that does the same.

    `key` is Textual's name of the key; `label` and `help` are keys of the catalogue. If `sends` is
    set, the key sends a message; an action that only affects the screen sends none.
    """

    name: str
    key: str
    sends: bool = False
    in_footer: bool = False

    @property
    def label(self) -> str:
        """The catalogue key of the short label."""
        return f"action.{self.name}"

    @property
    def says(self) -> str:
        """The catalogue key of the message that the key sends."""
        return f"action.{self.name}.says"

    @property
    def help(self) -> str:
        """The catalogue key of the help sentence."""
        return f"action.{self.name}.help"


ACTIONS: Final = (
    Action(name="help", key="f1", in_footer=True),
    Action(name="why", key="f2", sends=True, in_footer=True),
    Action(name="unsure", key="f3", sends=True, in_footer=True),
    Action(name="show", key="f4", sends=True),
    Action(name="plan", key="f5", sends=True),
    Action(name="fix", key="f8"),
    Action(name="undo", key="ctrl+z", sends=True, in_footer=True),
    Action(name="redo", key="ctrl+y", sends=True),
    Action(name="save", key="ctrl+s", sends=True),
    Action(name="compile", key="f9", sends=True, in_footer=True),
    Action(name="restart", key="ctrl+n", sends=True),
    Action(name="cancel", key="escape"),
    Action(name="next_pane", key="f6", in_footer=True),
    Action(name="leave", key="ctrl+q", in_footer=True),
)


#: The actions on a written bundle.
Act = Literal["run", "rehearse", "watch"]
#: The keys of these actions on the screen with the bundle's files.
ACT_KEYS: Final[dict[Act, str]] = {"run": "r", "rehearse": "e", "watch": "w"}
