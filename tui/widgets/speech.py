"""The reply of a language model: its name, and its words as Markdown, piece by piece."""

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Markdown, Static
from textual.widgets.markdown import MarkdownStream

from ftc.tui.languages.voice import Voice


class Speech(Vertical):
    """A block that grows while the model writes; `said` is the text so far."""

    def __init__(self, model: str, voice: Voice, said: str = "") -> None:
        super().__init__(classes="line ftc speech model")
        self.head = voice.say("agent.says", model=model)
        self.said = said
        self.stream: MarkdownStream | None = None

    def compose(self) -> ComposeResult:
        """Lay out the name above the words."""
        yield Static(self.head, markup=False, classes="head")
        yield Markdown(self.said, open_links=False)

    async def hear(self, piece: str) -> None:
        """Append a piece; Textual joins pieces that arrive faster than it can draw."""
        if self.stream is None:
            self.stream = Markdown.get_stream(self.query_one(Markdown))
        self.said += piece
        await self.stream.write(piece)

    def end(self, said: str) -> None:
        """Show the whole reply, since the last pieces may not have arrived."""
        self.run_worker(self._end(said))

    async def _end(self, said: str) -> None:
        if self.stream is not None:
            await self.stream.stop()
        if said != self.said:
            self.said = said
            await self.query_one(Markdown).update(said)
