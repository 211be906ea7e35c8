"""The last output lines of a run, from the end of its log."""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

#: The log to which `ftc` writes the output of a run that it started.
OUTPUT_NAME: Final = "run/output.log"
#: The most complete log first: all output, Slurm's log of the job, the launchers' logs of each
#: process, and the stages' own messages.
_LOGS: Final = (OUTPUT_NAME, "slurm-*.log", "run/logs/**/*.log", "run/stages.log")
#: The modification times of logs that are written at the same time differ by less than this.
_SAME_SECONDS: Final = 60.0
_MOST_FILES: Final = 200
#: This many bytes have more lines than a screen can show.
_END_BYTES: Final = 2**16
#: Escape sequences, which move a cursor or set a colour (ECMA-48: CSI, OSC and the two-letter
#: escapes).
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[ -~])")


def read_output(bundle: Path, most: int) -> tuple[str, ...]:
    """Return the last lines of the log that was written last, up to a number; none without a log.

    If several logs are being written, the most complete one is used.
    """
    found = [(path, _written(path)) for path in _list_logs(bundle)]
    newest = max((written for _, written in found), default=0.0)
    chosen = next((path for path, at in found if newest - at < _SAME_SECONDS), None)
    return () if chosen is None else read_tail(chosen, most)


def read_tail(path: Path, most: int) -> tuple[str, ...]:
    """Return the last lines of a file of any size, without escape sequences.

    Only the end of the file is read. Of a rewritten line, such as a progress bar, the last text
    counts. A byte that is not UTF-8 becomes a replacement character.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _END_BYTES))
            data = file.read(_END_BYTES)
    except OSError:
        return ()
    lines = data.decode("utf-8", "replace").split("\n")
    if size > _END_BYTES:
        del lines[0]  # its beginning was not read
    shown = [text for line in lines if (text := _clean(line))]
    return tuple(shown[-most:]) if most > 0 else ()


def _list_logs(bundle: Path) -> Iterator[Path]:
    """Yield the logs of a run, the most complete kind first, and the newest first within a kind."""
    for pattern in _LOGS:
        paths = [path for path in islice(bundle.glob(pattern), _MOST_FILES) if path.is_file()]
        yield from sorted(paths, key=_written, reverse=True)


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _clean(line: str) -> str:
    """Return a line's text as a terminal would show it."""
    parts = [part for part in _ESCAPES.sub("", line).split("\r") if part.strip()]
    text = parts[-1].expandtabs(4).rstrip() if parts else ""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
