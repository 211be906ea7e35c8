"""Regular expressions of a spec, matched in bounded time.

An expression that is cheap by its form is matched in this process. Others are matched in another
process with a time limit: the run uses the same engine, so that what is slow here is slow there.
"""

import functools
import json
import re
import subprocess
import sys
from typing import Final, Literal

Way = Literal["fullmatch", "search"]

SECONDS: Final = 3.0
#: Steps that are surely done within a second.
_STEPS: Final = 10_000_000
_REPEATS: Final = re.compile(r"[*+?{|]|\\[1-9]")
_NESTED: Final = re.compile(r"\)[*+{]|\\[1-9]|\(\?[^:)]")
_MATCH: Final = (
    "import json, re, sys\n"
    "pattern, texts, way = json.load(sys.stdin)\n"
    "match = getattr(re.compile(pattern), way)\n"
    "json.dump([match(text) is not None for text in texts], sys.stdout)\n"
)


class SlowPatternError(Exception):
    """Matching the pattern takes too long."""


def match_texts(pattern: str, texts: tuple[str, ...], way: Way) -> tuple[bool, ...]:
    """Return which of the texts match; raises re.error, OverflowError, RecursionError as `re` does.

    Raises SlowPatternError after a few seconds, and at once the next time.
    """
    found = _match(pattern, texts, way)
    if found is None:
        raise SlowPatternError
    return found


@functools.lru_cache(maxsize=64)
def _match(pattern: str, texts: tuple[str, ...], way: Way) -> tuple[bool, ...] | None:
    compiled = re.compile(pattern)
    if _is_cheap(pattern, texts):
        match = compiled.fullmatch if way == "fullmatch" else compiled.search
        return tuple(match(text) is not None for text in texts)
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _MATCH],
            input=json.dumps([pattern, texts, way]),
            capture_output=True,
            encoding="ascii",
            timeout=SECONDS,
            check=True,
        )
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return None
    return tuple(json.loads(done.stdout))


def _is_cheap(pattern: str, texts: tuple[str, ...]) -> bool:
    """Whether repetitions are not nested, and few enough to try all ways to match."""
    if _NESTED.search(pattern):
        return False
    repeats = len(_REPEATS.findall(pattern)) + 1
    longest = max(map(len, texts), default=0)
    return bool(len(texts) * (longest + 1) ** repeats <= _STEPS)
