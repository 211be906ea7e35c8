"""Keeps the rows of one conversation in one split.

Some data sets have a row for each answer, and each row repeats the answers before it.
"""

from array import array
from collections.abc import Sequence

import numpy as np

from .cleaning import fold, key_of
from .rows import Turns, is_prompt


class Conversations:
    """Collects the keys of answers and groups the records of one conversation."""

    def __init__(self) -> None:
        self._wholes = array("Q")  # of each record; 0 for one without an answer
        self._begun = array("Q")  # of the answers before the last one
        self._records = array("Q")  # their records

    @staticmethod
    def key_answers(turns: Turns) -> tuple[int, ...]:
        """Return a key for each answer, made of all texts up to it; the last is the row's key.

        If a longer row begins with this row, the last key is also among the longer row's keys. A
        prompt alone has no keys.
        """
        keys, key = [], 0
        for role, text in turns:
            key = key_of(f"{key}\x1f{fold(text)}")
            if role in ("assistant", "calls", "chosen"):
                keys.append(key)
        return () if is_prompt(turns) else tuple(keys)

    def add(self, keys: Sequence[int]) -> None:
        """Add the keys of the next record's answers."""
        self._begun.extend(keys[:-1])
        self._records.extend([len(self._wholes)] * len(keys[:-1]))
        self._wholes.append(keys[-1] if keys else 0)

    def join(self, prompts: "array[int]") -> None:
        """Give all records of a conversation the same prompt key."""
        wholes = np.asarray(self._wholes)
        order = np.argsort(wholes)
        places = np.searchsorted(wholes[order], self._begun)
        places = order[np.minimum(places, len(order) - 1)] if len(order) else places
        found = np.flatnonzero(wholes[places] == np.asarray(self._begun))
        firsts: dict[int, int] = {}  # for a joined key, a smaller one of its conversation

        def find_first(key: int) -> int:
            while key in firsts:
                key = firsts[key]
            return key

        for number in found.tolist():
            pair = prompts[self._records[number]], prompts[int(places[number])]
            first, other = sorted(map(find_first, pair))
            if first != other:
                firsts[other] = first
        if firsts:
            prompts[:] = array("Q", map(find_first, prompts))
