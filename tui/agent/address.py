"""Reads the value of `--llm`: a GGUF file, the address of a server, or nothing."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit, urlunsplit

from ftc.spec.findings.finding import EnvironmentFailure
from ftc.tui.agent.wire import list_models
from ftc.tui.languages.voice import Voice
from ftc.tui.state.served_model import Agent, ModelError, Server

#: The variable with the key of a server, unless `--llm-key` names another.
KEY_VARIABLE: Final = "FTC_LLM_KEY"
#: The value of `--llm` that turns off the search for a server on this machine.
NO_MODEL: Final = "none"
_HOST_AND_PORT: Final = re.compile(r"[\w.-]+:\d+(?:/\S*)?")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SCHEMES: Final = ("http", "https")
_OPENING_SECONDS: Final = 10.0
_MOST_NAMES: Final = 20
_MISSING: Final = 404
_LATEST: Final = ":latest"  # what Ollama adds to a name without a tag


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The options of the command line about a language model.

    `source` is a file, an address, `none`, or None if the option is absent. `name` is the name of
    the model on its server. `key_variable` is the environment variable with the server's key.
    """

    source: str | None = None
    name: str | None = None
    key_variable: str | None = None

    @property
    def is_address(self) -> bool:
        """Whether a server is named: `http://...`, or `host:port` if there is no such file."""
        text = self.source or ""
        if "://" in text:
            return True
        return bool(_HOST_AND_PORT.fullmatch(text)) and not Path(text).exists()

    @property
    def file(self) -> Path | None:
        """The GGUF file, if one is named."""
        named = self.source is not None and self.source != NO_MODEL and not self.is_address
        return Path(str(self.source)) if named else None


def read_server(text: str, key_variable: str | None) -> Server:
    """Return the server of an address; raises EnvironmentFailure if the address is not valid.

    Without a path, `/v1` is added. Neither a password in the address nor a key is ever repeated.
    """
    parts = _split(text if "://" in text else f"http://{text}")
    if parts is None or parts.scheme not in _SCHEMES or not parts.hostname:
        raise EnvironmentFailure(
            message="--llm names no server: an address begins with http:// or https://",
            help="write it as `http://localhost:11434/v1`",
        )
    if parts.username or parts.password or parts.query:
        raise EnvironmentFailure(
            message="the address of --llm holds a user, a password or a query",
            help="put the key in an environment variable, and name that with --llm-key",
        )
    path = parts.path.rstrip("/").removesuffix("/chat/completions") or "/v1"
    url = urlunsplit((parts.scheme, parts.netloc, path, "", ""))
    return Server(url=url, key_variable=_find_variable(key_variable))


def _split(text: str) -> SplitResult | None:
    try:
        parts = urlsplit(text)
        _ = parts.port  # raises for a port that is not a number
    except ValueError:
        return None
    return parts


def _find_variable(name: str | None) -> str:
    """Return the name of the key's variable; a variable that the user named must be set."""
    if name is None:
        return KEY_VARIABLE if os.environ.get(KEY_VARIABLE) else ""
    if not _NAME.fullmatch(name) or not os.environ.get(name):
        raise EnvironmentFailure(
            message="--llm-key names no environment variable that is set",
            help="give the variable's name, not the key: `export MY_KEY=...`, `--llm-key MY_KEY`",
        )
    return name


def open_agent(wanted: Wanted) -> Agent | None:
    """Return an agent for the model on the named server, or None if no server is named.

    Without a name, the server must have exactly one model. If the server lists no models, the given
    name is used unchecked. Raises EnvironmentFailure if the server does not answer or has no such
    model.
    """
    if not wanted.is_address:
        return None
    server, model = read_server(str(wanted.source), wanted.key_variable), wanted.name
    try:
        names = list_models(server, seconds=_OPENING_SECONDS)
    except ModelError as failure:
        if failure.status != _MISSING or model is None:
            raise EnvironmentFailure(
                message=Voice().say(failure.key, **failure.values),
                help="start the server or correct the address, or leave --llm out",
            ) from failure
        names = (model,)
    if model is None and len(names) != 1:
        raise EnvironmentFailure(
            message=f"{server.url} has {len(names)} models: {shorten(names)}",
            help="name one with --llm-model",
        )
    if model is not None and f"{model}{_LATEST}" in names:
        model = f"{model}{_LATEST}"
    if model is not None and model not in names:
        raise EnvironmentFailure(
            message=f"{server.url} has no model {model}; it has: {shorten(names)}",
            help="name one of these with --llm-model",
        )
    return Agent(server=server, model=model or names[0])


def shorten(names: tuple[str, ...]) -> str:
    """Return names as a list for a sentence, at most twenty of them."""
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f", ... (+{more})" if more > 0 else "") or "-"
