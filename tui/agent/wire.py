"""The OpenAI-compatible protocol over HTTP: the list of models, and a streamed answer.

`huggingface_hub.InferenceClient` also speaks it, but release 2.4.0 sends the user's Hugging Face
token to every address, follows a redirect with the whole message, rewrites a JSON schema into the
dialect of another server, has no limit for the length of an answer, and refuses each address while
HF_HUB_OFFLINE is set. Here a redirect is an error, only the named key is sent, and time and size
are limited.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from ftc.tui.agent.flow import Stopped, follow
from ftc.tui.state.served_model import Limits, ModelError, Server

if TYPE_CHECKING:
    import socket
    from http.client import HTTPConnection, HTTPResponse

_CONNECT_SECONDS: Final = 10.0
_OK: Final = 200
_LONGEST_SAID: Final = 240
_REFUSED: Final = frozenset({401, 403})
_MISSING: Final = 404
_LIMITED: Final = 429
_CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def list_models(server: Server, *, seconds: float) -> tuple[str, ...]:
    """Return the names in the answer to GET /models; raises ModelError."""
    limits = Limits(seconds=seconds, silent_seconds=seconds)
    lines = _exchange(server, "/models", None, limits, lambda: False)
    found = _decode("".join(lines))
    entries = found.get("data", False)  # null if Ollama has no models
    if not isinstance(entries, list | None):
        raise ModelError("agent.garbage", address=server.url)
    names = [each.get("id") for each in entries or () if isinstance(each, dict)]
    return tuple(clean(name) for name in names if isinstance(name, str) and name)


def chat(
    server: Server, body: Mapping[str, Any], limits: Limits, stopped: Stopped
) -> Iterator[Mapping[str, Any]]:
    """Yield the chunks of a streamed answer, or the whole answer if it is not streamed.

    Raises ModelError if the server fails, also in the middle of a stream.
    """
    whole: list[str] = []
    for line in _exchange(server, "/chat/completions", body, limits, stopped):
        if whole or line.startswith("{"):  # the server does not stream
            whole.append(line)
        elif line.startswith("data:"):
            said = line.removeprefix("data:").strip()
            if said == "[DONE]":
                yield {"choices": [], "done": True}
                return
            yield _chunk(said, server)
        elif line.strip() and not line.startswith((":", "event:", "id:", "retry:")):
            raise ModelError("agent.garbage", address=server.url)
    if whole:
        yield _chunk("".join(whole), server)


def _chunk(text: str, server: Server) -> Mapping[str, Any]:
    chunk = _decode(text)
    if not chunk:
        raise ModelError("agent.garbage", address=server.url)
    if chunk.get("error"):
        raise ModelError("agent.error", said=find_error(chunk, server))
    return chunk


def _decode(text: str) -> dict[str, Any]:
    """Return the JSON object in a text, or an empty one if the text is not a JSON object."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _exchange(
    server: Server,
    path: str,
    body: Mapping[str, Any] | None,
    limits: Limits,
    stopped: Stopped,
) -> Iterator[str]:
    """Yield the lines of an answer from a thread, so that a timeout or a stop acts at once."""
    connection = _prepare(server, min(_CONNECT_SECONDS, limits.silent_seconds))
    lines: SimpleQueue[str | ModelError | None] = SimpleQueue()
    opened: list[socket.socket] = []
    request = _Request(server=server, path=path, body=body, limits=limits, opened=opened)
    Thread(target=_pump, args=(connection, request, lines), daemon=True).start()
    try:
        yield from follow(lines, limits, stopped)
    finally:
        _hang_up(opened)


def _prepare(server: Server, seconds: float) -> "HTTPConnection":
    from http.client import HTTPConnection, HTTPSConnection  # noqa: PLC0415 - not at start
    from urllib.request import getproxies, proxy_bypass  # noqa: PLC0415

    parts = urlsplit(server.url)
    if parts.scheme == "http":
        return HTTPConnection(server.host, parts.port or 80, timeout=seconds)
    proxy = urlsplit(getproxies().get("https", ""))
    if proxy.hostname and not server.is_here and not proxy_bypass(server.host):
        tunnelled = HTTPSConnection(proxy.hostname, proxy.port or 8080, timeout=seconds)
        tunnelled.set_tunnel(server.host, parts.port or 443)
        return tunnelled
    return HTTPSConnection(server.host, parts.port or 443, timeout=seconds)


def _hang_up(opened: "list[socket.socket]") -> None:
    """Close the connection that the thread is reading; the server then stops writing."""
    for each in opened:
        with suppress(OSError):
            each.shutdown(2)  # both directions


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """A request; `opened` gets its socket as soon as the server has accepted the connection."""

    server: Server
    path: str
    body: Mapping[str, Any] | None
    limits: Limits
    opened: "list[socket.socket]"


def _pump(
    connection: "HTTPConnection",
    request: _Request,
    lines: "SimpleQueue[str | ModelError | None]",
) -> None:
    """Send the request, and put the lines of the answer into the queue, then None or a failure."""
    from http.client import HTTPException  # noqa: PLC0415 - not at start

    server, limits = request.server, request.limits
    began = False
    try:
        connection.connect()
        request.opened.append(connection.sock)
        connection.sock.settimeout(limits.silent_seconds)
        _send(connection, server, request.path, request.body)
        response = connection.getresponse()
        began = True
        if response.status != _OK:
            raise _failed(response, server, request.body)
        for line in _read(response, limits):
            lines.put(line)
        lines.put(None)
    except ModelError as failure:
        lines.put(failure)
    except TimeoutError:
        lines.put(_silent(request))
    except (HTTPException, ValueError, AttributeError):  # not HTTP, or closed while it was read
        key = "agent.broken" if began else "agent.garbage"
        lines.put(ModelError(key, address=server.url))
    except OSError as error:
        key = "agent.broken" if began else "agent.unreachable"
        why = error.strerror or type(error).__name__
        lines.put(ModelError(key, address=server.url, why=why))
    finally:
        connection.close()


def _silent(request: _Request) -> ModelError:
    address, seconds = request.server.url, round(request.limits.silent_seconds)
    if not request.opened:
        return ModelError("agent.unreachable", address=address, why="timed out")
    return ModelError("agent.silent", address=address, seconds=seconds)


def _send(
    connection: "HTTPConnection", server: Server, path: str, body: Mapping[str, Any] | None
) -> None:
    key = _key(server)
    headers = {"Accept": "text/event-stream, application/json", "User-Agent": "ftc"}
    headers |= {"Authorization": f"Bearer {key}"} if key else {}
    target = urlsplit(server.url).path + path
    if body is None:
        connection.request("GET", target, headers=headers)
        return
    headers |= {"Content-Type": "application/json"}
    connection.request("POST", target, body=json.dumps(body).encode(), headers=headers)


def _key(server: Server) -> str:
    return os.environ.get(server.key_variable, "").strip() if server.key_variable else ""


def _read(response: "HTTPResponse", limits: Limits) -> Iterator[str]:
    """Yield the lines of the body; raises ModelError if it exceeds the size limits."""
    total = 0
    while line := response.readline(limits.line_bytes + 1):
        total += len(line)
        if len(line) > limits.line_bytes or total > limits.answer_bytes:
            raise ModelError("agent.long")
        yield line.decode("utf-8", "replace").rstrip("\r\n")


def _failed(response: "HTTPResponse", server: Server, body: Mapping[str, Any] | None) -> ModelError:
    """Return the error for an answer whose status is not 200."""
    status = response.status
    found = _decode(response.read(_LONGEST_SAID * 40).decode("utf-8", "replace"))
    said = find_error(found, server) or response.reason or "-"
    values: dict[str, object] = {"address": server.url, "said": said, "code": status}
    if status in _REFUSED:
        key = "agent.key" if server.key_variable else "agent.no_key"
        return ModelError(key, status=status, variable=server.key_variable, **values)
    if status == _MISSING and body is not None:
        return ModelError("agent.missing", status=status, model=body["model"], **values)
    key = "agent.limited" if status == _LIMITED else "agent.status"
    return ModelError(key, status=status, **values)


def find_error(found: Mapping[str, Any], server: Server) -> str:
    """Return the message of an error from OpenAI, Ollama, llama.cpp or vLLM, shortened.

    The key is removed if a server repeats it.
    """
    error = found.get("error", found)
    said = error.get("message", error.get("detail", "")) if isinstance(error, Mapping) else error
    text = " ".join(clean(said if isinstance(said, str) else json.dumps(said)).split())
    if key := _key(server):
        text = text.replace(key, "***")
    return text if len(text) <= _LONGEST_SAID else text[: _LONGEST_SAID - 3] + "..."


def clean(text: str) -> str:
    """Return a text without control characters, which could steer a terminal."""
    return _CONTROL.sub(" ", text).strip()
