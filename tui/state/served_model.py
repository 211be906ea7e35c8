"""The language model of a conversation: its location, and what it may see."""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final, Literal
from urllib.parse import urlsplit

#: The modes of requests, the best first: tools, JSON with a schema in the format of OpenAI or of
#: older llama.cpp servers, or text only.
Mode = Literal["tools", "json", "object", "plain"]
MODES: Final[tuple[Mode, ...]] = ("tools", "json", "object", "plain")
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class ModelError(Exception):
    """The model gave no answer; `key` and `values` are the sentence in the catalogue.

    `status` is that of the HTTP answer, 0 if there was none.
    """

    def __init__(self, key: str, *, status: int = 0, **values: object) -> None:
        super().__init__(key)
        self.key = key
        self.status = status
        self.values = values


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """An OpenAI-compatible server; `/chat/completions` is appended to `url`.

    `key_variable` names the environment variable with the key. The key itself is read for each
    request and not kept. An empty name means no key.
    """

    url: str
    key_variable: str = ""

    @property
    def host(self) -> str:
        """The host's name."""
        return urlsplit(self.url).hostname or ""

    @property
    def is_here(self) -> bool:
        """Whether the host is this machine."""
        return self.host in _LOOPBACK

    @property
    def is_open(self) -> bool:
        """Whether data goes to another machine without encryption."""
        return not self.is_here and urlsplit(self.url).scheme == "http"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalModel:
    """A model in a GGUF file, opened by llama-cpp-python; the lock `turn` is held while it answers.

    Nothing leaves the machine. The library is not reentrant, so a second message waits for the
    lock.
    """

    llm: Any
    name: str
    turn: Lock = field(default_factory=Lock)

    @property
    def url(self) -> str:
        """How sentences refer to the model: the name of its file."""
        return self.name


@dataclass(slots=True)
class Brake:
    """Stops turns in progress; later turns are not stopped."""

    count: int = 0

    def pull(self) -> None:
        """Stop the turns that are in progress."""
        self.count += 1

    def watch(self) -> Callable[[], bool]:
        """Return a function that returns whether the brake was pulled after this call."""
        before = self.count
        return lambda: self.count != before


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a turn: rounds of tools, wrong calls, seconds, and sizes of an answer."""

    rounds: int = 6
    wrong_calls: int = 3
    seconds: float = 120.0
    silent_seconds: float = 60.0
    line_bytes: int = 256 * 1024
    answer_bytes: int = 4 * 1024**2
    result_letters: int = 12_000  # of the result of a tool
    text_letters: int = 6000  # of the shown text; an answer with four times as many ends the turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A model and its part of the conversation; `history` holds the last messages of both sides."""

    server: Server | LocalModel
    model: str
    mode: Mode = "tools"
    sees_rows: bool = False
    history: tuple[dict[str, Any], ...] = ()
    limits: Limits = field(default_factory=Limits)
    brake: Brake = field(default_factory=Brake)
