"""Reads rows with images: where each image is, and its place in the texts. Standard library only.

A row with images begins with a turn of the role `images`, the JSON list of its references. In the
texts of the other turns each `MARK` stands for the next of them. A reference is {"path": ...},
relative to the folder of the data file, {"url": ...}, or {"stored": ...}, the SHA-256 of an image
that is written into the data; `width` and `height` are those after the image was turned upright.

Rows of any form can have images: `read` reads the turns, and every column that may hold messages
is searched for images.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from .chat_rows import AUDIO, IMAGES, VIDEOS, find_role, load_messages
from .rows import Fault, ReadTurns, Row, Turns
from .tool_rows import to_messages

Reference = dict[str, Any]
#: Returns a reference with the size of its image, or why the image cannot be used.
Look = Callable[[Reference], Reference | Fault]

#: U+FFFC, the object replacement character.
MARK: Final = "\ufffc"
#: What many data sets write where an image belongs.
WRITTEN: Final = "<image>"
#: The roles of answers that are compared: an image in one of them could not be learned.
_JUDGED: Final = ("chosen", "rejected")
_VIDEO_ENDINGS: Final = (
    *(".mp4", ".mov", ".mkv", ".avi", ".webm", ".m4v", ".mpg", ".mpeg", ".wmv", ".flv", ".ogv"),
)
_AUDIO_ENDINGS: Final = (
    *(".wav", ".mp3", ".flac", ".ogg", ".oga", ".opus", ".m4a", ".aac", ".wma", ".aif", ".aiff"),
)
#: How texts begin that encode an image: data URIs, and PNG and JPEG in base64.
_ENCODED: Final = ("data:", "iVBORw0KGgo", "/9j/")
_LEAST_ENCODED: Final = 100  # characters; a shorter text may be the name of a file
_TEXTS: Final = frozenset({"text", "input_text", "output_text"})


class StoredImage(dict[str, Any]):
    """The reference of an image whose bytes are in the data file, or its `fault`."""


class _UnusableError(Exception):
    """A row that cannot be used; `fault` says why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault


def read_with_images(
    row: Row,
    *,
    read: ReadTurns,
    look: Look,
    conversations: Sequence[str] = (),
    images: str | None = None,
    reserved: Sequence[str] = (),
) -> Turns | Fault:
    """Return the turns that `read` finds, after the images of the row if it has any.

    `images` is a column, and `conversations` are those that may hold lists of messages. Images
    without a place come before the first user text. No text may contain what is `reserved`: the
    placeholders of the processor.
    """
    try:
        before = list(_read_references(row.get(images))) if images is not None else []
        placed = {name: _Placed(waiting=list(before)) for name in conversations}
        row = {**row, **{name: _flatten(row.get(name), placed[name]) for name in conversations}}
        used = _choose(list(placed.values()))
        references = [_look(each, look) for each in (used.all() if used else before)]
    except _UnusableError as unusable:
        return unusable.fault
    turns = read(row)
    if isinstance(turns, str):
        return turns
    is_written = bool(references) and used is None
    turns = tuple((role, _mark(role, text, is_written=is_written)) for role, text in turns)
    if any(text in said for _, said in turns for text in reserved):
        return "placeholder"
    if not references:
        return turns
    marks = sum(text.count(MARK) for _, text in turns)
    if not marks:
        turns = _put_first(turns, len(references))
    elif marks != len(references):
        return "image_count"
    return (("images", json.dumps(references)), *turns)


def list_images(turns: Sequence[tuple[str, str]]) -> list[Reference]:
    """Return the references of a row in the order of their marks; none for a row without images."""
    return json.loads(turns[0][1]) if turns and turns[0][0] == "images" else []


def without_images(turns: Turns) -> Turns:
    """Return the turns after the references."""
    return turns[1:] if turns and turns[0][0] == "images" else turns


def to_image_messages(turns: Turns) -> tuple[list[dict[str, Any]], list[Any] | None]:
    """Return the messages and tools of a conversation whose contents are lists of parts.

    The parts are {"type": "text", "text": ...} and {"type": "image"}, as chat templates of
    image-text models read them.
    """
    messages, tools = to_messages(without_images(turns))
    return to_parts(messages), tools


def to_parts(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return messages whose contents are lists of parts: texts, and images for their marks."""
    return [{**message, "content": _parts(message["content"])} for message in messages]


def replace_bytes(
    row: Row, *, columns: Sequence[str], refer: Callable[[bytes], StoredImage]
) -> Row:
    """Return a row with what `refer` returns in place of the bytes of images, in their order."""

    def visit(value: Any, *, bare: bool) -> Any:
        data = value.get("bytes") if isinstance(value, dict) else value
        if isinstance(data, bytes) and (bare or isinstance(value, dict)):
            return refer(data)
        if isinstance(value, list):
            return [visit(each, bare=bare) for each in value]
        if isinstance(value, dict):
            return {key: visit(each, bare=key in IMAGES) for key, each in value.items()}
        return value

    read = {name: visit(row[name], bare=True) for name in columns if name in row}
    return {**row, **read}


class _Placed:
    """The references of a row: those of its column wait until a message has a place for them."""

    def __init__(self, *, waiting: list[Reference]) -> None:
        self.waiting, self.named = waiting, list[Reference]()
        self.used = False

    def all(self) -> list[Reference]:
        """Return all references; those that no part of a message placed come last."""
        return [*self.named, *self.waiting]

    def add(self, reference: Reference | None) -> None:
        """Place a reference, or the next of the column for a part that names none."""
        self.used = True
        if reference is None and not self.waiting:
            raise _UnusableError("image_count")
        self.named.append(self.waiting.pop(0) if reference is None else reference)


def _choose(columns: Sequence[_Placed]) -> _Placed | None:
    """Return the images of the columns that have some; None where no message has any.

    Two answers may each repeat the prompt, whose images are then the same.
    """
    used = [placed for placed in columns if placed.used]
    if any(placed.named != used[0].named for placed in used):
        raise _UnusableError("two_prompts")
    return used[0] if used else None


def _flatten(cell: Any, placed: _Placed) -> Any:
    """Return a list of messages whose contents are texts, with a mark for each image."""
    messages = load_messages(cell)
    if isinstance(messages, str):
        return cell
    return [_flatten_message(message, placed) for message in messages]


def _flatten_message(message: Any, placed: _Placed) -> Any:
    key = "content" if isinstance(message, dict) and "content" in message else "value"
    content = message.get(key) if isinstance(message, dict) else None
    if isinstance(content, list):
        if any(_kind(part) in IMAGES for part in content) and not _may_show(message):
            raise _UnusableError("image_role")
        texts = [_read_part(part, placed) for part in content]
        return message if None in texts else {**message, key: "".join(map(str, texts))}
    if isinstance(content, str) and MARK in content:
        return {**message, key: content.replace(MARK, "")}
    return message


def _may_show(message: Mapping[str, Any]) -> bool:
    """Return whether a message may hold images: those of an assistant cannot be learned."""
    return find_role(message.get("role", message.get("from"))) != "assistant"


def _kind(part: Any) -> Any:
    return part.get("type") if isinstance(part, dict) else None


def _read_part(part: Any, placed: _Placed) -> str | None:
    """Return the text of a part of a message, a mark for an image, None for any other part."""
    if isinstance(part, str):
        return part.replace(MARK, "")
    kind = _kind(part)
    if kind in VIDEOS | AUDIO:
        raise _UnusableError("video" if kind in VIDEOS else "audio")
    if kind in IMAGES:
        names = ("image", "image_url", "path", "url")
        # Arrow gives every part of a parquet file all keys: None for those that it lacks
        named = next((part[name] for name in names if part.get(name) is not None), None)
        references = list(_read_references(named))
        placed.add(references[0] if references else None)
        return MARK
    if kind in _TEXTS or (kind is None and isinstance(part, dict)):
        text = part.get("text")
        return text.replace(MARK, "") if isinstance(text, str) else None
    return None


def _read_references(cell: Any) -> Iterator[Reference]:
    """Yield the references in a cell: a path, a URL, an object with one of them, or a list."""
    if isinstance(cell, StoredImage):
        yield cell
        return
    if isinstance(cell, dict):
        names = ("path", "image", "url", "file_name")
        cell = next((cell[name] for name in names if cell.get(name) is not None), cell)
    if isinstance(cell, str) and cell.lstrip()[:1] == "[":
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError):
            raise _UnusableError("no_image") from None
    if isinstance(cell, list):
        for each in cell:
            if isinstance(each, list):
                raise _UnusableError("no_image")
            yield from _read_references(each)
    elif isinstance(cell, str):
        if text := cell.strip():
            yield _refer(text)
    elif cell is not None:
        raise _UnusableError("no_image")


def _refer(text: str) -> Reference:
    """Return the reference that a text is: the bytes of an image, a URL or a path."""
    if clip := find_clip_file(text):
        raise _UnusableError(clip)
    if text.startswith(_ENCODED) and len(text) > _LEAST_ENCODED:
        return {"data": text}
    if text.lower().startswith(("http://", "https://")):
        return {"url": text}
    return {"path": text.removeprefix("file://")}


def find_clip_file(text: str) -> Literal["video", "audio"] | None:
    """Return whether a path, a URL or a data URL is that of a video or of audio."""
    place = text.lower()
    if not place.startswith("data:"):
        place = place.partition("?")[0].partition("#")[0]
    if place.startswith("data:video/") or place.endswith(_VIDEO_ENDINGS):
        return "video"
    return "audio" if place.startswith("data:audio/") or place.endswith(_AUDIO_ENDINGS) else None


def _look(reference: Reference, look: Look) -> Reference:
    """Return a reference with the size of its image."""
    seen: Reference | Fault = reference
    if isinstance(reference, StoredImage):
        seen = reference.get("fault") or dict(reference)
    else:
        seen = look(reference)
    if isinstance(seen, str):
        raise _UnusableError(seen)
    return seen


def _mark(role: str, text: str, *, is_written: bool) -> str:
    """Return a text with a mark in place of each written one; the data's own marks are removed.

    The marks of parts of messages stay, and an answer that is compared has none.
    """
    if role in _JUDGED:
        return text.replace(MARK, "")
    return text.replace(MARK, "").replace(WRITTEN, MARK) if is_written else text


def _put_first(turns: Turns, count: int) -> Turns:
    """Return turns whose first user text begins with the images."""
    first = next((n for n, (role, _) in enumerate(turns) if role == "user"), 0)
    role, text = turns[first]
    return (*turns[:first], (role, MARK * count + text), *turns[first + 1 :])


def _parts(text: str) -> list[dict[str, str]]:
    """Return the parts of a text, split at its marks."""
    parts: list[dict[str, str]] = []
    for place, piece in enumerate(text.split(MARK)):
        if place:
            parts.append({"type": "image"})
        if piece:
            parts.append({"type": "text", "text": piece})
    return parts or [{"type": "text", "text": ""}]
