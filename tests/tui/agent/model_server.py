"""A server on this machine that speaks OpenAI's chat completions as real servers do.

The shapes are those of published answers, with other values:

* OpenAI and vLLM (docs.vllm.ai, tool calling): server-sent events; the first fragment of a call has
  its id and name, the others have pieces of its arguments by index; a last chunk with the usage has
  no choices. A vLLM without a parser answers 400 with `"auto" tool choice requires ...`.
* Ollama (ollama/ollama#5915, #7881, #6027): a call is whole in one chunk; early releases have no
  index, later ones repeat index 0; 400 `... does not support tools`; 404 `model 'x' not found`.
* llama.cpp's llama-server (containers/ramalama#988): `reasoning_content`; 500 `tools param requires
  --jinja flag`. llama-cpp-python's server, which was run: 500 for `json_schema`, and
  `json_object` with a schema.
* OpenAI: `refusal` in the delta, `content_filter` as the reason of the end.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "qwen2.5:7b"
KEY = "sk-sesame-0123456789"
JSON = "application/json"
EVENTS = "text/event-stream"
#: One scripted answer: it writes to the handler.
Answer = Callable[["Handler"], None]


@dataclass(slots=True)
class Scripted:
    """What the server says in turn (its last answer again and again), and what it was asked."""

    answers: list[Answer] = field(default_factory=list)
    models: list[str] = field(default_factory=lambda: [MODEL])
    listing: Answer | None = None
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    url: str = ""
    port: int = 0


class Handler(BaseHTTPRequestHandler):
    """Answers GET /v1/models and POST /v1/chat/completions."""

    script: Scripted
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """List the models, as all of these servers do."""
        self.script.headers.append(dict(self.headers))
        if self.script.listing is not None:
            self.script.listing(self)
            return
        data = [{"id": name, "object": "model"} for name in self.script.models]
        self.reply(200, JSON, json.dumps({"object": "list", "data": data}).encode())

    def do_POST(self) -> None:
        """Give the next answer."""
        body = self.rfile.read(int(self.headers["content-length"]))
        script = self.script
        script.headers.append(dict(self.headers))
        script.asked.append(json.loads(body))
        answer = script.answers.pop(0) if len(script.answers) > 1 else script.answers[0]
        answer(self)

    def reply(self, status: int, kind: str, body: bytes, **headers: str) -> None:
        """Send a whole answer."""
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Write no log."""


@contextmanager
def serve(*answers: Answer, **settings: Any) -> Iterator[Scripted]:
    """Run a server with these answers on a free port."""
    script = Scripted(answers=list(answers), **settings)
    handler = type("Own", (Handler,), {"script": script})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    script.port = server.server_port
    script.url = f"http://127.0.0.1:{script.port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> str:
    """Return one event of a stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    whole = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": MODEL}
    return f"data: {json.dumps({**whole, 'choices': [choice], **more})}\n\n"


def events(*parts: str, end: str = "data: [DONE]\n\n") -> Answer:
    """Return an answer of server-sent events, each sent by itself."""

    def answer(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("content-type", EVENTS)
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        for part in (*parts, end):
            data = part.encode()
            if data:
                handler.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
                handler.wfile.flush()
        handler.wfile.write(b"0\r\n\r\n")

    return answer


def says(text: str) -> Answer:
    """Return an answer of text, in three pieces, with a comment and the usage between (OpenAI)."""
    third = max(1, len(text) // 3)
    pieces = [text[:third], text[third : 2 * third], text[2 * third :]]
    parts = [chunk({"role": "assistant", "content": ""}), ": keep-alive\n\n"]
    parts += [chunk({"content": piece}) for piece in pieces]
    usage = 'data: {"choices": [], "usage": {"total_tokens": 9}}\n\n'
    return events(*parts, chunk({}, "stop"), usage)


def says_slowly(first: str, rest: str, gate: threading.Event) -> Answer:
    """Return an answer of text whose rest is sent as soon as the gate is open."""

    def answer(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("content-type", EVENTS)
        handler.end_headers()
        handler.wfile.write(chunk({"content": first}).encode())
        handler.wfile.flush()
        gate.wait(20)
        with suppress(OSError):  # nobody reads any more
            handler.wfile.write(f"{chunk({'content': rest}, 'stop')}data: [DONE]\n\n".encode())
        handler.close_connection = True

    return answer


def calls_in_pieces(name: str, arguments: str) -> Answer:
    """Return a call of a tool in fragments (OpenAI, vLLM), after what llama-server reasons."""
    half = len(arguments) // 2
    first = {"index": 0, "id": "call_abc", "type": "function"}
    return events(
        chunk({"role": "assistant", "content": None, "reasoning_content": "so ..."}),
        chunk({"tool_calls": [{**first, "function": {"name": name, "arguments": ""}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": arguments[:half]}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": arguments[half:]}}]}),
        chunk({}, "tool_calls"),
    )


def calls_whole(*calls: tuple[str, str]) -> Answer:
    """Return calls of tools, each whole and all at index 0 (Ollama)."""
    made = [
        {
            "index": 0,
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }
        for number, (name, arguments) in enumerate(calls)
    ]
    parts = [chunk({"role": "assistant", "content": "", "tool_calls": [each]}) for each in made]
    return events(*parts, chunk({"role": "assistant", "content": ""}, "tool_calls"))


def fails(status: int, body: object, **headers: str) -> Answer:
    """Return an HTTP error with a JSON body."""
    return lambda handler: handler.reply(status, JSON, json.dumps(body).encode(), **headers)


def sends(body: bytes, kind: str = EVENTS) -> Answer:
    """Return an answer of these bytes."""
    return lambda handler: handler.reply(200, kind, body)


def keeps_silent(seconds: float) -> Answer:
    """Return an answer that begins and sends nothing."""

    def answer(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("content-type", EVENTS)
        handler.end_headers()
        handler.wfile.flush()
        time.sleep(seconds)
        handler.close_connection = True

    return answer


def drips(seconds: float) -> Answer:
    """Return an answer that sends a comment now and then, and never ends."""

    def answer(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("content-type", EVENTS)
        handler.end_headers()
        until = time.monotonic() + seconds
        try:
            while time.monotonic() < until:
                handler.wfile.write(b": wait\n\n")
                handler.wfile.flush()
                time.sleep(0.02)
        except OSError:
            return

    return answer


def breaks_off() -> Answer:
    """Return an answer whose connection closes in the middle of a stream."""

    def answer(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("content-type", EVENTS)
        handler.end_headers()
        handler.wfile.write(chunk({"content": "The rank is"}).encode())
        handler.wfile.flush()
        handler.close_connection = True

    return answer
