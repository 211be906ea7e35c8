"""Processor time as a quiet core of a usual speed would have taken it."""

import time
from dataclasses import dataclass, replace
from typing import Final

_TIMES: Final = 60_000
_USUAL_SECONDS: Final = 0.07  # of the known work below


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    first: int = 0
    second: str = ""
    third: tuple[int, ...] = ()
    fourth: float = 0.0


def quiet_seconds(begin: float) -> float:
    """Return the processor seconds since `begin`, a `time.process_time()`.

    They are divided by how much longer than usual a known piece of work takes now: it makes
    objects, looks up attributes and calls functions, as the code that is measured does.
    """
    end = time.process_time()
    piece = _Piece()
    for number in range(_TIMES):
        piece = replace(piece, first=number + len(piece.second))
    return (end - begin) / max(1.0, (time.process_time() - end) / _USUAL_SECONDS)
