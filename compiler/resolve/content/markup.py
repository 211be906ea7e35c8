"""Counts texts that contain markup of pages, files in base64, or the place of a video or audio."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from ftc.compiler.resolve.rows.example import Example
from ftc.runtime.read.image_rows import find_clip_file

_MOST_CHARS: Final = 20_000
#: Code between fences or backticks, where markup is intended.
_CODE: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_TAG: Final = re.compile(
    r"</?(?:p|br|div|span|strong|em|a|ul|ol|li|t[dhr]|table|tbody|thead|h[1-6]|font|img|hr"
    r"|blockquote|section)(?:\s[^<>]{0,300})?/?>",
    re.IGNORECASE,
)
_ENTITY: Final = re.compile(r"&(?:amp|lt|gt|quot|apos|nbsp|#\d{2,5}|#x[0-9a-fA-F]{2,4});")
#: Words of texts about markup, which may contain it: a question about HTML, a page to write.
_ABOUT: Final = re.compile(r"\b(?:html|xml|markup|css|web ?pages?|react|jsx)\b", re.IGNORECASE)
_DATA_URL: Final = "base64,"
_BASE64: Final = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{400,}={0,2}")
#: What data sets write where a video or audio belongs: the placeholder of a program or a processor,
#: which may be around a path.
_PLACE: Final = re.compile(r"<\|?(video|audio|speech)(?:_pad|_bos|_?\d+)?\|?>", re.IGNORECASE)
_AROUND: Final = re.compile(r"<(video|audio)>([^<>\s]+)</\1>", re.IGNORECASE)
_DIGIT: Final = re.compile(r"\d")


def count_foreign(examples: Sequence[Example]) -> Mapping[str, int]:
    """Return the numbers of examples by what they hold.

    `markup` are tags or entities, `base64` files; `video` and `audio` have their place in a prompt.
    """
    counts: Counter[str] = Counter()
    for example in examples:
        text = "\n".join(part[:_MOST_CHARS] for _, part in example.turns)
        if _has_base64(text):
            counts["base64"] += 1
        if clip := _find_clip(example):
            counts[clip] += 1
        if ("<" not in text and "&" not in text) or _ABOUT.search(_TAG.sub(" ", text)):
            continue
        bare = _CODE.sub(" ", text)
        if _TAG.search(bare) or _ENTITY.search(bare):
            counts["markup"] += 1
    return dict(sorted(counts.items()))


def _has_base64(text: str) -> bool:
    """Return whether a text has a file: a long run in a data URL, or of both cases and digits."""
    for match in _BASE64.finditer(text):
        run = match[0]
        if _DATA_URL in text or (_DIGIT.search(run) and run != run.lower() and run != run.upper()):
            return True
    return False


def _find_clip(example: Example) -> str | None:
    """Return the kind of the video or audio that a prompt names, None where it names none.

    A prompt is the path of one, or has a placeholder at an end of its text: a question about tags
    has them in its sentences.
    """
    for role, text in example.turns:
        bare = text.strip()
        if role not in ("user", "text") or not bare:
            continue
        if len(bare.split()) == 1 and (clip := find_clip_file(bare)):
            return clip
        if around := next((m for m in _AROUND.finditer(bare) if find_clip_file(m[2])), None):
            return around[1].lower()
        is_markup = "<" not in bare or "</" in bare or _ABOUT.search(bare)
        places = [] if is_markup else list(_PLACE.finditer(bare))
        if any(place.start() == 0 or place.end() == len(bare) for place in places):
            return "video" if places[0][1].lower() == "video" else "audio"
    return None
