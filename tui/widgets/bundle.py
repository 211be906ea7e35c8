"""The written bundle: a list of its files, and the selected file beside it."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static, TextArea
from textual.widgets.option_list import Option as Row

from ftc.tui.finish import Finished
from ftc.tui.voice import Voice

_LANGUAGES = {".py": "python", ".json": "json", ".yaml": "yaml", ".md": "markdown", ".sh": "bash"}
_MOST_LETTERS = 200_000
_FIRST = "README.md"


class BundleScreen(ModalScreen[None]):
    """A read-only viewer of the files."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "OK")]

    def __init__(self, finished: Finished, voice: Voice) -> None:
        super().__init__()
        self.finished = finished
        self.voice = voice

    def compose(self) -> ComposeResult:
        """Lay out the list and the viewer, with the next command above them."""
        bundle = self.finished.bundle
        say = self.voice.say
        told = f"{say('next', bundle=bundle)}\n{say('help.leave')}"
        yield Static(told, id="next", markup=False)
        with Horizontal():
            yield OptionList(*(Row(name) for name in self.finished.files), id="files")
            yield TextArea("", read_only=True, show_line_numbers=True, id="file")

    def on_mount(self) -> None:
        """Show the README first."""
        rows, names = self.query_one("#files", OptionList), self.finished.files
        rows.highlighted = names.index(_FIRST) if _FIRST in names else 0
        rows.focus()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show the file under the cursor."""
        name = str(event.option.prompt)
        if self.finished.bundle is None:
            return
        path = self.finished.bundle / name
        viewer = self.query_one("#file", TextArea)
        try:
            viewer.text = path.read_text(encoding="utf-8")[:_MOST_LETTERS]
        except OSError as error:
            viewer.text = str(error)
        wanted = _LANGUAGES.get(path.suffix)
        viewer.language = wanted if wanted in viewer.available_languages else None
