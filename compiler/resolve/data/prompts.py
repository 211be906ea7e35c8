"""Prompts: which examples repeat another, and which repeat only its prompt."""

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

from ftc.compiler.resolve.rows.example import Example
from ftc.runtime.cleaning import fold

#: Distinct prompts that are remembered; past them copies of later ones are not found.
_REMEMBERED: Final = 2_000_000
_KEY_BYTES: Final = 12


@dataclass(slots=True, kw_only=True)
class PromptCount:
    """What `prepare.py` groups by: examples with one prompt stay together in one split.

    `conflicting` counts the examples whose prompt came before with another answer, `contradicting`
    those that came before with the opposite preference or verdict.
    """

    seen: set[bytes] = field(default_factory=set)
    rows: dict[bytes, int] = field(default_factory=dict)
    conflicting: int = 0
    contradicting: int = 0

    def is_known(self, example: Example) -> bool:
        """Count the example; tell whether the same one came before, white space apart."""
        before = [fold(text) for _, text in example.prompt]
        answer = "\x1f".join(fold(text) for _, text in example.turns[len(before) :])
        digest = blake2b(digest_size=_KEY_BYTES)
        prompt = b""
        if before:
            digest.update("\x1f".join((*before, "")).encode("utf-8", "surrogatepass"))
            prompt = digest.digest()
        opposite = _oppose(example)
        contrary = digest.copy() if opposite is not None else None
        digest.update(answer.encode("utf-8", "surrogatepass"))
        key = digest.digest()
        known = key in self.seen
        if not known:
            if contrary is not None and opposite is not None:
                contrary.update(opposite.encode("utf-8", "surrogatepass"))
                self.contradicting += contrary.digest() in self.seen
            self._remember(key, prompt or key)
        return known

    def distinct(self) -> int:
        """Return how many prompts there are."""
        return len(self.rows)

    def largest(self) -> int:
        """Return how many different answers the most frequent prompt has."""
        return max(self.rows.values(), default=0)

    def _remember(self, key: bytes, prompt: bytes) -> None:
        if len(self.rows) >= _REMEMBERED:
            return
        self.seen.add(key)
        before = self.rows.get(prompt, 0)
        self.rows[prompt] = before + 1
        self.conflicting += before > 0


def _oppose(example: Example) -> str | None:
    """Return the answers with the opposite preference or verdict; None where there is neither."""
    if example.compares:
        return "\x1f".join(fold(text) for _, text in example.turns[:-3:-1])
    if example.verdict:
        verdict = "false" if example.verdict == "true" else "true"
        return "\x1f".join((fold(example.turns[-2][1]), verdict))
    return None
