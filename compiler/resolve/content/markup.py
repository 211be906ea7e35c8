"""Counts texts that contain markup of pages, or files in base64."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from ftc.compiler.resolve.rows.example import Example

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
_DIGIT: Final = re.compile(r"\d")


def count_foreign(examples: Sequence[Example]) -> Mapping[str, int]:
    """Return the numbers of examples with tags or entities (`markup`), and with `base64`."""
    counts: Counter[str] = Counter()
    for example in examples:
        text = "\n".join(part[:_MOST_CHARS] for _, part in example.turns)
        if _has_base64(text):
            counts["base64"] += 1
        if ("<" not in text and "&" not in text) or _ABOUT.search(_TAG.sub(" ", text)):
            continue
        bare = _CODE.sub(" ", text)
        if _TAG.search(bare) or _ENTITY.search(bare):
            counts["markup"] += 1
    return dict(sorted(counts.items()))


def _has_base64(text: str) -> bool:
    """Tell whether a text has a file: a long run in a data URL, or of both cases and digits."""
    for match in _BASE64.finditer(text):
        run = match[0]
        if _DATA_URL in text or (_DIGIT.search(run) and run != run.lower() and run != run.upper()):
            return True
    return False
