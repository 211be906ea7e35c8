"""Copies: rows that repeat another, its prompt, or nearly all of its words.

Long rows share many words by chance, so they are compared by sequences of three words. A few
hundred rows are sampled, and each row of the data is compared with them, so the work grows with the
rows and not with their pairs. Two rows are near copies if the words that they share are nine tenths
of the words of both (Jaccard). The rarest tenth of a sampled row's words, plus one, are enough to
find every near copy, which must have at least one of them (prefix filtering, Bayardo, Ma and
Srikant, "Scaling up all pairs similarity search", WWW 2007).
"""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

from ftc.compiler.resolve.content_facts import NearDuplicates
from ftc.compiler.resolve.rows.example import Example
from ftc.runtime.read.cleaning import fold

#: The number of rows whose words are counted to find rare words.
_COUNTED_ROWS: Final = 1000
_PROBES: Final = 200
_ALIKE: Final = 0.9
_FEWEST_WORDS: Final = 5
_SHORT_WORDS: Final = 40
#: Longer words on average mean that the script has no spaces.
_LONGEST_WORD_CHARS: Final = 12
#: A longer row is represented by its first and last characters.
_CHARS: Final = 500
#: The maximum number of compared pairs; later rows are not examined.
_PAIRS: Final = 300_000
_PUNCTUATION: Final = str.maketrans(dict.fromkeys("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", " "))
Feature = str | tuple[str, str, str]
#: The maximum number of remembered prompts; copies of later prompts are not found.
_REMEMBERED: Final = 2_000_000
_KEY_BYTES: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class _Index:
    """The drawn rows: `words` by place, and the places in which each of the rare words stands.

    For the rows in `whole`, common words count as well, since they have almost no others.
    """

    words: Mapping[int, frozenset[Feature]]
    whole: frozenset[int]
    places: Mapping[Feature, Sequence[int]]
    common: frozenset[Feature]


@dataclass(slots=True, kw_only=True)
class PromptCount:
    """The groups of `prepare.py`: examples with the same prompt stay in one split.

    `conflicting` counts the examples whose prompt occurred before with another answer, and
    `contradicting` those that occurred with the opposite preference or verdict.
    """

    seen: set[bytes] = field(default_factory=set)
    rows: dict[bytes, int] = field(default_factory=dict)
    conflicting: int = 0
    contradicting: int = 0

    def is_known(self, example: Example) -> bool:
        """Count the example; tell whether it occurred before, ignoring white space."""
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
        """Return the number of distinct prompts."""
        return len(self.rows)

    def largest(self) -> int:
        """Return the number of different answers to the most frequent prompt."""
        return max(self.rows.values(), default=0)

    def _remember(self, key: bytes, prompt: bytes) -> None:
        if len(self.rows) >= _REMEMBERED:
            return
        self.seen.add(key)
        before = self.rows.get(prompt, 0)
        self.rows[prompt] = before + 1
        self.conflicting += before > 0


def find_near_duplicates(examples: Sequence[Example], numbers: Sequence[int]) -> NearDuplicates:
    """Find near copies among the examples; `numbers` are their row numbers."""
    index = _draw(examples)
    found: Counter[int] = Counter()
    compared, pairs = 0, 0
    for place, example in enumerate(examples):
        words = _features(example)
        compared += 1
        if index.places.keys().isdisjoint(words):
            continue
        own = set(words)
        near = {n for word in index.places.keys() & own for n in index.places[word]} - {place}
        rare = own - index.common
        for n in near:
            alike = _alike(index.words[n], own if n in index.whole else rare)
            if alike and not _same_prompt(examples[n], example):
                found[n] += 1
        pairs += len(near)
        if pairs > _PAIRS:
            break
    largest = max(found, key=lambda n: (found[n], -n), default=None)
    counts = Counter(found[n] for n in index.words)
    return NearDuplicates(
        probes=len(index.words),
        compared=compared,
        counts=tuple(sorted(counts.items())),
        largest=0 if largest is None else found[largest],
        row=0 if largest is None else numbers[largest],
    )


def split_words(example: Example) -> list[str]:
    """Return the words of an example in lower case, without its system turn.

    Text without spaces gives pairs of letters instead of words.
    """
    text = " ".join([text for role, text in example.turns if role != "system"])
    if len(text) > 2 * _CHARS:
        text = f"{text[:_CHARS]} {text[-_CHARS:]}"
    text = text.lower()
    if text.isascii():  # the table is fast there alone
        return text.translate(_PUNCTUATION).split()
    words = text.split()
    if len(text) > _LONGEST_WORD_CHARS * len(words):
        return [text[n : n + 2] for n in range(len(text) - 1)]
    return words


def draw(examples: Sequence[Example], rows: int) -> list[int]:
    """Return the indices of some examples, sampled with a fixed seed."""
    pick = random.Random(0)  # noqa: S311 - a sample, no secret
    return pick.sample(range(len(examples)), min(rows, len(examples)))


def _draw(examples: Sequence[Example]) -> _Index:
    """Sample rows, count words, and store the rarest words of each row with enough words."""
    sample = draw(examples, _COUNTED_ROWS)
    drawn = {place: frozenset(_features(examples[place])) for place in sample}
    rows_with = Counter(word for words in drawn.values() for word in words)
    common = frozenset(word for word, rows in rows_with.items() if 2 * rows > len(drawn))
    probes: dict[int, frozenset[Feature]] = {}
    places: defaultdict[Feature, list[int]] = defaultdict(list)
    whole: set[int] = set()
    for place, every in list(drawn.items())[:_PROBES]:
        words = every - common
        if len(words) < _FEWEST_WORDS:
            if len(every) < _FEWEST_WORDS or _tells_apart(words, examples[place]):
                continue
            words = every
            whole.add(place)
        probes[place] = words
        enough = len(words) - math.ceil(_ALIKE * len(words) - 1e-9) + 1
        for word in sorted(words, key=lambda word: (rows_with[word], str(word)))[:enough]:
            places[word].append(place)
    return _Index(words=probes, whole=frozenset(whole), places=places, common=common)


def _features(example: Example) -> Sequence[Feature]:
    words = split_words(example)
    if len(words) <= _SHORT_WORDS:
        return words
    return list(zip(words, words[1:], words[2:], strict=False))


def _tells_apart(words: frozenset[Feature], example: Example) -> bool:
    """Return whether the words are more than numbers and the answer, which fill in a template."""
    answer = set(split_words(Example(turns=(("assistant", example.answer),))))
    return any(
        not any(letter.isdigit() for letter in "".join(word)) and word not in answer
        for word in words
    )


def _same_prompt(one: Example, other: Example) -> bool:
    """Return whether `prepare.py` keeps both in one split, so that neither leaks the other."""
    return len(one.prompt) > 0 and one.prompt == other.prompt


def _alike(one: frozenset[Feature], other: set[Feature]) -> bool:
    return (1 + _ALIKE) * len(one & other) >= _ALIKE * (len(one) + len(other)) - 1e-9


def _oppose(example: Example) -> str | None:
    """Return the answers with the opposite preference or verdict, or None without either."""
    if example.compares:
        return "\x1f".join(fold(text) for _, text in example.turns[:-3:-1])
    if example.verdict:
        verdict = "false" if example.verdict == "true" else "true"
        return "\x1f".join((fold(example.turns[-2][1]), verdict))
    return None
