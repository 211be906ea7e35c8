"""The written bundle: a list of its files, the selected file, and the next actions."""

import time
from functools import partial
from typing import ClassVar, Final

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import ModalScreen
from textual.widgets import Button, OptionList, Static, TextArea
from textual.widgets.option_list import Option as Row

from ftc.spec.findings.finding import EnvironmentFailure
from ftc.tui.bundle.actions import ACT_KEYS, Act
from ftc.tui.bundle.finish import Finished, add_readme, say_next
from ftc.tui.bundle.launching import REHEARSAL_NAME, Launched, launch
from ftc.tui.languages.translation import tell, tell_failure
from ftc.tui.languages.voice import Voice
from ftc.tui.terminal.background import run_in_background
from ftc.tui.watch.run import Watched
from ftc.tui.watch.screen import WatchScreen
from ftc.tui.widgets.log import LogScreen

_LANGUAGES = {".py": "python", ".json": "json", ".yaml": "yaml", ".md": "markdown", ".sh": "bash"}
_MOST_LETTERS = 200_000
_FIRST = "README.md"
#: The buttons and their keys.
_DOES: Final = (*ACT_KEYS.items(), ("readme", "l"))


class BundleScreen(ModalScreen[None]):
    """A read-only viewer of the files, with buttons that start and watch the run."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "OK"),
        *(Binding(key, f"{name}_bundle", name) for name, key in _DOES),
    ]

    def __init__(self, finished: Finished, voice: Voice, launched: Launched | None = None) -> None:
        """Show a bundle, and follow the process that a message has started with it."""
        super().__init__()
        self.finished = finished
        self.voice = voice
        self.launched = launched

    def compose(self) -> ComposeResult:
        """Lay out the file list and the viewer, with the next commands above them."""
        say = self.voice.say
        told = f"{say_next(self.finished, self.voice)}\n{say('help.leave')}"
        yield Static(told, id="next", markup=False)
        with Horizontal(id="does"):
            for name, key in _DOES:
                yield Button(f"{say(f'bundle.{name}')} ({key})", id=f"does-{name}", compact=True)
        yield Static("", id="told", markup=False)
        with Horizontal():
            yield OptionList(*(Row(name) for name in self.finished.files), id="files")
            yield TextArea("", read_only=True, show_line_numbers=True, id="file")

    def on_mount(self) -> None:
        """Show the README first; a run that another program starts has no button."""
        rows, names = self.query_one("#files", OptionList), self.finished.files
        rows.highlighted = names.index(_FIRST) if _FIRST in names else 0
        rows.focus()
        self.query_one("#does-run", Button).disabled = not self._is_local
        self.query_one("#does-readme", Button).display = self.voice.language != "en"
        self._tell("")
        if self.launched is not None:
            self._follow(self.launched)

    @property
    def _is_local(self) -> bool:
        steps = self.finished.steps
        return steps is not None and steps.is_local

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

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        name = (event.button.id or "").removeprefix("does-")
        getattr(self, f"action_{name}_bundle")()

    def _tell(self, text: str) -> None:
        """Show one line about the result of an action."""
        told = self.query_one("#told", Static)
        told.update(text)
        told.display = bool(text)

    def action_run_bundle(self) -> None:
        """Start the run unless it is running already or lacks packages, and watch it."""
        if self._is_local:
            self._tell(self.voice.say("bundle.looking"))
            self._launch("run")

    def action_rehearse_bundle(self) -> None:
        """Start a rehearsal, and show its output."""
        self._launch("rehearse")

    def action_watch_bundle(self) -> None:
        """Open the screen of `ftc watch` on the bundle."""
        self._launch("watch")

    @work(exclusive=True, group="does")
    async def _launch(self, act: Act) -> None:
        try:
            call = partial(launch, act, self.finished, self.voice)
            self._follow(await run_in_background(call))
        except EnvironmentFailure as failure:
            self._tell(tell_failure(failure, self.voice))

    def _follow(self, launched: Launched) -> None:
        """Show the result of an action, and open the screen that watches its process."""
        bundle = self.finished.bundle
        self._tell("" if launched.act == "watch" else launched.told)
        if bundle is None or not launched.follows:
            return
        if launched.act == "rehearse":
            self.app.push_screen(LogScreen(bundle / REHEARSAL_NAME, launched.pid, self.voice))
            return
        if launched.pid:
            self.app.notify(
                launched.told
            )  # shown on the new screen, since the first stage takes a moment to start
        watched = Watched(bundle)
        self.app.push_screen(WatchScreen([watched], [watched.look(time.time())], voice=self.voice))

    @work(exclusive=True, group="does")
    async def action_readme_bundle(self) -> None:
        """Add a README in the language of the conversation, and show it."""
        language = self.voice.language
        if language == "en" or self.finished.bundle is None:
            return
        try:
            finished = await run_in_background(partial(add_readme, self.finished, language))
        except EnvironmentFailure as failure:
            self._tell(tell_failure(failure, self.voice))
            return
        if finished.bundle is None:
            self._tell("\n".join(tell(finding, self.voice) for finding in finished.findings))
            return
        self.finished = finished
        rows = self.query_one("#files", OptionList)
        rows.clear_options()
        rows.add_options(Row(name) for name in finished.files)
        rows.highlighted = finished.files.index(f"README.{language}.md")
