"""Finds a model server that runs on this machine, and offers it once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Thread
from typing import Final

from ftc.tui.agent.wire import list_models
from ftc.tui.state.saved_state import find_offered, keep_offered
from ftc.tui.state.served_model import Agent, ModelError, Server

#: The default ports of well-known servers.
PORTS: Final[Mapping[str, int]] = {
    "Ollama": 11434,
    "llama-server": 8080,
    "LM Studio": 1234,
    "vLLM": 8000,
}
_SECONDS: Final = 0.5
_NO_TALKER: Final = "embed"  # servers list embedding models too


@dataclass(slots=True)
class Finder:
    """Queries this machine's ports on threads as soon as it is created; nothing waits for it.

    `found` holds a server and its first model once a server has answered with a list of models.
    """

    ports: Mapping[str, int] = field(default_factory=lambda: PORTS)
    found: list[tuple[str, Agent]] = field(default_factory=list)
    threads: list[Thread] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Start one thread per port."""
        for name, port in self.ports.items():
            thread = Thread(target=self._ask, args=(name, port), daemon=True)
            self.threads.append(thread)
            thread.start()

    def _ask(self, name: str, port: int) -> None:
        server = Server(url=f"http://127.0.0.1:{port}/v1")
        try:
            models = list_models(server, seconds=_SECONDS)
        except ModelError:
            return
        talkers = [each for each in models if _NO_TALKER not in each.casefold()]
        if talkers:
            self.found.append((name, Agent(server=server, model=talkers[0])))

    def offer(self) -> tuple[str, Agent] | None:
        """Return a server that was not offered before, and record that it has been offered."""
        offered = find_offered()
        for name, agent in self.found:
            if agent.server.url not in offered:
                keep_offered(agent.server.url)
                return name, agent
        return None
