"""The assistant in a browser: access control, and no content from other hosts."""

import asyncio
import importlib
import io
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ftc.__main__ import run
from ftc.spec.findings.finding import EnvironmentFailure

pytest.importorskip("textual_serve", reason="needs the extra `serve`")
server = importlib.import_module("ftc.tui.front_ends.server")


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Start `ftc chat --serve` in a folder and yield the address that it prints."""
    with subprocess.Popen(
        [sys.executable, "-m", "ftc", "chat", "--serve", "--lang", "en"],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[1]
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a served assistant."""
    with serving(tmp_path_factory.mktemp("served")) as address:
        yield address


def ask(address: str, path: str, cookie: str = "") -> tuple[int, str, dict[str, str]]:
    """Return the status, the text and the headers of a path at an address's host."""
    parts = urlsplit(address)
    connection = HTTPConnection(str(parts.hostname), parts.port or 80, timeout=20)
    try:
        connection.request("GET", path, headers={"Cookie": cookie} if cookie else {})
        reply = connection.getresponse()
        return reply.status, reply.read().decode("utf-8", "replace"), dict(reply.getheaders())
    finally:
        connection.close()


@pytest.mark.parametrize(
    "path",
    ["/", "/ws", "/static/js/textual.js", "/wrong/", "/wrong/ws", "/download/key", "/%C3%A9/"],
)
def test_no_token_no_answer(address: str, path: str) -> None:
    """The rule applies to the page, its scripts and the socket."""
    status, text, _ = ask(address, path)
    assert status == 403
    assert "token" in text


def test_the_address_is_new_and_this_machines(address: str) -> None:
    """The token cannot be guessed, and the server listens only on the loopback."""
    parts = urlsplit(address)
    assert parts.hostname == "127.0.0.1"
    assert len(parts.path.strip("/")) >= 32
    first, second = server.listen(0), server.listen(0)
    assert first.token != second.token
    assert first.token not in repr(first)
    first.listener.close()
    second.listener.close()


def test_nothing_comes_from_elsewhere(address: str) -> None:
    """The page and its files refer to no other host, and a policy blocks other hosts."""
    root = urlsplit(address).path
    status, page, headers = ask(address, root)
    assert status == 200
    assert "default-src 'self'" in headers["Content-Security-Policy"]
    loaded = re.findall(r"""(?:src|href)="([^"]+)"|url\("([^"]+)"\)""", page)
    names = [name for pair in loaded for name in pair if name and not name.startswith("data:")]
    assert len(names) >= 4
    texts = [page]
    for name in names:
        status, text, _ = ask(address, root + name)
        assert status == 200, name
        if not name.endswith(".ttf"):
            texts.append(re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))
    hosts = set(re.findall(r"(?:https?|wss?)://([\w.-]+)", "\n".join(texts)))
    assert hosts <= {"127.0.0.1", "localhost"}, hosts


def test_downloads_need_the_cookie_of_the_page(address: str) -> None:
    """Files that the assistant delivers go to the browser with the page."""
    _, _, headers = ask(address, urlsplit(address).path)
    cookie = headers["Set-Cookie"].partition(";")[0]
    assert "HttpOnly" in headers["Set-Cookie"]
    assert ask(address, "/download/unknown", cookie)[0] == 404


def test_a_port_that_is_taken_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    """A port that does not exist is rejected by click."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run(["chat", "--serve", "--port", str(port)]) == 3
    assert f"port {port} of this machine cannot be used" in capsys.readouterr().err
    assert run(["chat", "--serve", "--port", "99999"]) == 2
    assert run(["chat", "--port", "8000"]) == 2
    assert run(["chat", "--plain", "--serve"]) == 2


def test_without_the_extra_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence, and how to install it."""
    monkeypatch.setitem(sys.modules, "textual_serve.server", None)
    with pytest.raises(EnvironmentFailure, match="textual-serve, which is not installed"):
        server.listen(0)
    assert run(["chat", "--serve"]) == 3


@pytest.mark.prove
def test_a_browser_shows_the_first_question(folder: Path, tmp_path: Path) -> None:
    """It only contacts this machine, receives the question over the socket, and draws it."""
    browser = pytest.importorskip("tests.tui.front_ends.browser")
    if browser.CHROMIUM is None:
        pytest.skip("needs chromium")
    image = pytest.importorskip("PIL.Image")
    with serving(folder) as address, browser.open_browser(tmp_path / "profile") as debugging:
        seen = asyncio.run(
            browser.visit(debugging, address, until=b"What should the model learn to do?")
        )
    hosts = {urlsplit(url).netloc for url in seen.asked if not url.startswith(("data:", "about:"))}
    assert hosts == {urlsplit(address).netloc}
    picture = image.open(io.BytesIO(seen.picture)).convert("RGB")
    counted = sorted(picture.getcolors(maxcolors=1 << 24), reverse=True)
    share = 1 - counted[0][0] / (picture.width * picture.height)
    assert len(counted) > 20
    assert 0.01 < share < 0.6
