"""Images that are not files: bytes in rows, and downloads."""

import base64
import io
import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest
from PIL import Image

from ftc.runtime.read.image_rows import list_images
from ftc.runtime.read.message_cells import read_answer
from ftc.runtime.tokens.image_records import read_images
from ftc.runtime.vision.image_store import find_images, find_store, note_folder
from ftc.runtime.vision.image_tokens import Grid

RULE: Final = Grid(patch=14, merge=2, min_pixels=3136, max_pixels=50_000, token="<|image_pad|>")
COLUMNS: Final[dict[str, Any]] = {"prompt": "question", "completion": "answer", "images": "image"}
SAID: Final = {"question": "What is it?", "answer": "a square"}


def draw(colour: str, side: int = 60) -> bytes:
    """Return the bytes of a picture of one colour."""
    stream = io.BytesIO()
    Image.new("RGB", (side, 40), colour).save(stream, "PNG")
    return stream.getvalue()


@pytest.fixture
def address() -> Iterator[str]:
    """Return the address of a server that has one picture, and one text."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            late = self.path.startswith("/late") and self.path in asked[:-1]
            found = self.path == "/red" or late
            self.send_response(200 if found or self.path in ("/text", "/late") else 404)
            self.end_headers()
            self.wfile.write(draw("red") if found else b"no picture")

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def reader(data: Path, *, download: bool = False) -> Any:
    """Return what reads a row, as prepare.py does."""
    return partial(
        read_images,
        read=read_answer,
        folder=data,
        store=find_store(data),
        rule=RULE,
        download=download,
        **COLUMNS,
    )


def test_bytes_are_kept_once(tmp_path: Path) -> None:
    """Rows with the same bytes share a file, which has those bytes; broken ones are a fault."""
    read = reader(tmp_path)
    turns = [read({**SAID, "image": {"bytes": draw("blue"), "path": None}}) for _ in range(2)]
    note_folder(tmp_path, tmp_path)
    (reference,) = list_images(turns[0])

    assert turns[0] == turns[1]
    assert (reference["width"], reference["height"]) == (60, 40)
    assert [path.read_bytes() for path in find_store(tmp_path).iterdir()] == [draw("blue")]
    assert find_images(tmp_path)(json.loads(turns[0][0][1])[0]).getpixel((5, 5)) == (0, 0, 255)
    assert read({**SAID, "image": {"bytes": b"broken", "path": None}}) == "image_broken"


def test_a_data_uri_is_kept_like_bytes(tmp_path: Path) -> None:
    """Its row names the file that holds what it was decoded to."""
    text = f"data:image/png;base64,{base64.b64encode(draw('blue')).decode()}"
    turns = reader(tmp_path)({**SAID, "image": text})
    assert turns == reader(tmp_path)({**SAID, "image": {"bytes": draw("blue"), "path": None}})
    assert [path.read_bytes() for path in find_store(tmp_path).iterdir()] == [draw("blue")]


def test_addresses_are_asked_only_if_allowed(tmp_path: Path, address: str) -> None:
    """A picture is downloaded and measured; what is none, and what is not there, are faults."""
    note_folder(tmp_path, tmp_path)
    row = {**SAID, "image": f"{address}/red"}

    assert reader(tmp_path)(row) == "image_url"
    assert not find_store(tmp_path).exists()
    read = reader(tmp_path, download=True)
    (reference,) = list_images(read(row))
    assert (reference["width"], reference["height"]) == (60, 40)
    assert find_images(tmp_path)(reference).getpixel((5, 5)) == (255, 0, 0)
    assert read({**SAID, "image": f"{address}/text"}) == "image_broken"
    assert read({**SAID, "image": f"{address}/nothing"}) == "image_missing"


def test_an_answer_that_is_no_image_is_asked_again(tmp_path: Path, address: str) -> None:
    """A server may be out of order for a while; nothing of its answer is kept."""
    read, row = reader(tmp_path, download=True), {**SAID, "image": f"{address}/late"}
    assert read(row) == "image_broken"
    assert not find_store(tmp_path).exists()
    (reference,) = list_images(read(row))
    assert (reference["width"], reference["height"]) == (60, 40)


def test_a_stored_name_stays_in_its_folder(tmp_path: Path) -> None:
    """A reference cannot name a file outside of the kept images."""
    note_folder(tmp_path, tmp_path)
    find_store(tmp_path).mkdir()
    (tmp_path / "secret.png").write_bytes(draw("black"))

    with pytest.raises(FileNotFoundError):
        find_images(tmp_path)({"stored": "../secret.png"})
