"""Videos and audio in parts of messages without a type, in the formats of Bedrock and Gemini."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from ftc.compiler.resolve.rows.reader import Row
from ftc.runtime.read.chat_rows import AUDIO, VIDEOS, content_of, load_messages

Clip = Literal["video", "audio"]

_KINDS: Final[Mapping[str, Clip]] = {
    **dict.fromkeys(VIDEOS, "video"),
    **dict.fromkeys(AUDIO, "audio"),
}
#: The keys of a file in a part of Gemini's, and those of its type.
_FILES: Final = ("inlineData", "inline_data", "fileData", "file_data")
_MIME_TYPES: Final = ("mimeType", "mime_type")


def find_clip_part(row: Row) -> Clip | None:
    """Return the kind of a message part; None if it is neither video nor audio."""
    lists = (messages for cell in row.values() if isinstance(messages := load_messages(cell), list))
    contents = (content_of(each) for some in lists for each in some if isinstance(each, dict))
    parts = (part for content in contents if isinstance(content, list) for part in content)
    return next((found for part in parts if (found := _find_clip(part)) is not None), None)


def _find_clip(part: Any) -> Clip | None:
    if not isinstance(part, dict):
        return None
    file: Mapping[str, Any] = next(
        (part[name] for name in _FILES if isinstance(part.get(name), dict)), {}
    )
    mime = next((file[name] for name in _MIME_TYPES if isinstance(file.get(name), str)), "")
    held = next((name for name in _KINDS if part.get(name) is not None), mime.partition("/")[0])
    return _KINDS.get(held)
