"""The assistant in a browser on this machine: one process of `ftc chat` for each connection.

The server listens only on the loopback interface. It answers only requests with its token, which
changes at every start.
"""

import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from secrets import compare_digest, token_urlsafe
from string import Template
from typing import TYPE_CHECKING, Any, Final

from ftc.spec.findings.finding import EnvironmentFailure

if TYPE_CHECKING:
    from aiohttp.web import Application, Request, StreamResponse

    Handler = Callable[[Request], Awaitable[StreamResponse]]

_HOST: Final = "127.0.0.1"
_COOKIE: Final = "ftc-token"
_TOKEN_BYTES: Final = 24
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; "
    "connect-src 'self' ws://{host}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """The address at which the assistant listens, and its token."""

    listener: socket.socket
    token: str = field(default_factory=lambda: token_urlsafe(_TOKEN_BYTES), repr=False)

    @property
    def host(self) -> str:
        """The address and the port."""
        return f"{_HOST}:{self.listener.getsockname()[1]}"

    @property
    def address(self) -> str:
        """The URL to open in a browser."""
        return f"http://{self.host}/{self.token}/"


def listen(port: int) -> Served:
    """Listen on a port of this machine; 0 means any free port.

    Raises EnvironmentFailure if the port is in use, or if textual-serve is not installed.
    """
    try:
        import textual_serve.server  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        raise EnvironmentFailure(
            message="the assistant in a browser needs textual-serve, which is not installed",
            help='run `pip install ".[serve]"` in a clone of ftc, or leave --serve out',
        ) from error
    try:
        return Served(listener=socket.create_server((_HOST, port)))
    except (OSError, OverflowError) as error:
        raise EnvironmentFailure(
            message=f"port {port} of this machine cannot be used: {str(error).lower()}",
            help="name another with --port, or none: a free one is found",
        ) from error


def serve(served: Served, command: str) -> None:
    """Serve browsers until Ctrl+C; `command` is the shell command that starts one assistant."""
    from aiohttp.web import run_app  # noqa: PLC0415 - an extra

    run_app(make_site(served, command), sock=served.listener, print=None)


def make_site(served: Served, command: str) -> "Application":
    """Return the site: all pages need the token, and none loads anything from other hosts."""
    from aiohttp.web import Application, Response, get, static  # noqa: PLC0415 - an extra
    from textual_serve.server import Server  # noqa: PLC0415

    server = Server(command)
    root = f"/{served.token}/"

    async def show_page(request: "Request") -> Response:
        del request
        response = Response(text=_page(served), content_type="text/html")
        response.set_cookie(
            _COOKIE, served.token, path="/download", httponly=True, samesite="Strict"
        )
        return response

    site = Application(middlewares=[_guard(served)])
    site.add_routes([
        get(root, show_page),
        get(f"{root}ws", server.handle_websocket),
        get("/download/{key}", server.handle_download),
        static(f"{root}static", Path(server.statics_path)),
    ])  # fmt: skip
    return site


def _guard(served: Served) -> Any:
    """Return the middleware that rejects requests without the token."""
    from aiohttp.web import HTTPForbidden, middleware  # noqa: PLC0415 - an extra

    @middleware
    async def guard(request: "Request", handler: "Handler") -> "StreamResponse":
        first = request.path.split("/")[1]
        shown = request.cookies.get(_COOKIE, "") if first == "download" else first
        if not compare_digest(shown.encode(), served.token.encode()):
            raise HTTPForbidden(
                text="This address needs the token that `ftc chat --serve` printed.\n"
            )
        response = await handler(request)
        if not response.prepared:
            for name, value in _HEADERS.items():
                response.headers[name] = value.replace("{host}", served.host)
        return response

    return guard


def _page(served: Served) -> str:
    page = (files("ftc.tui.front_ends") / "page.html").read_text(encoding="utf-8")
    return Template(page).substitute(websocket=f"ws://{served.host}/{served.token}/ws")
