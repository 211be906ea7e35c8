"""Finds common questions and their answers by the similarity of a message to example questions.

The table has several examples of each question, in three languages. The similarity is the mean of
two tf-idf measures over word stems: the share of the message that the question's examples and its
answer cover, and the cosine similarity to its nearest example. Below `CERTAIN` the message must
also share enough telling words, which are neither numbers nor function words, with the examples.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import chain, islice, pairwise
from math import log, prod, sqrt
from typing import Final

from ftc.tui.conversation.topics import Topic
from ftc.tui.languages.spoken import find_spoken, function_words
from ftc.tui.languages.voice import LANGUAGES, Language
from ftc.tui.understanding.learned.stems import stem
from ftc.tui.understanding.text.message import fold
from ftc.tui.understanding.text.sentences import split_sentences

#: The minimum similarity for an answer instead of "I cannot answer that", and for an answer that is
#: preferred to the planner's or the glossary's. They were chosen by leaving out one example at a
#: time (`test_left_out_examples_choose_the_thresholds`).
LIKELY: Final = 0.45
CERTAIN: Final = 0.82
#: The minimum lead over the second most similar question.
_AHEAD: Final = 0.03
_WORD: Final = re.compile(r"[a-z]+\d*|\d+")
#: The maximum number of telling words of an example that shares only one of them with a message.
_MOST_TELLING: Final = 3
#: The weights of a function word, a number, and a pair of words.
_FUNCTION: Final = 0.1
_NUMBER: Final = 0.3
_PAIR: Final = 0.3
#: The weight of a stem that is not in the table, relative to the rarest stem of the table.
_UNKNOWN: Final = 1.4
#: The weights of a word of the answer, and of a word of an example in another language.
_ANSWERED: Final = 0.5
_FOREIGN: Final = 0.8
#: This is added to the weight of every message, relative to the rarest stem, so that function words
#: alone match nothing.
_DOUBT: Final = 0.3

Weights = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonQuestion:
    """A question with examples and its answer, by language.

    If there is a topic, its facts follow the answer. `decisions` are the values of the plan to
    show.
    """

    id: str
    asks: Mapping[Language, Sequence[str]]
    answer: Mapping[Language, str] = field(default_factory=dict)
    topic: Topic | None = None
    decisions: Sequence[str] = ()


def find_question(
    text: str, language: Language, least: float, without: str = ""
) -> CommonQuestion | None:
    """Return the question that a message asks, or None below the minimum similarity.

    In a message with several sentences, each question is compared. The example `without` is not.
    """
    spoken = find_spoken(text) or language
    asked = [text[each.start : each.end] for each in split_sentences(text) if each.asks] or [text]
    found = [(*islice(rank(sentence, spoken, without), 2),) for sentence in asked]
    sentence, best = max(zip(asked, found, strict=True), key=lambda each: each[1][0][0])
    (likeness, question), (next_likeness, _) = best
    if likeness < max(least, next_likeness + _AHEAD):
        return None
    agreed = likeness >= CERTAIN or _index(spoken).agrees(sentence, question, without)
    return question if agreed else None


def rank(
    text: str, language: Language, without: str = ""
) -> Iterator[tuple[float, CommonQuestion]]:
    """Yield the questions with their similarity to a sentence, the most similar first.

    The example `without` is not compared.
    """
    return _index(language).rank(text, without)


def find_telling(text: str) -> Sequence[str]:
    """Return the words of a text that are neither numbers nor function words."""
    return [word for word in _WORD.findall(fold(text)) if _value(word) == 1]


@cache
def all_questions() -> tuple[CommonQuestion, ...]:
    """Return the questions of the table."""
    text = (files("ftc.tui.conversation") / "common_questions.json").read_text(encoding="utf-8")
    return tuple(CommonQuestion(**entry) for entry in json.loads(text))


@cache
def _index(language: Language) -> "_Index":
    return _Index(language)


class _Index:
    """The stems of the questions, for comparison with a message in one language."""

    def __init__(self, language: Language) -> None:
        self._language: Final = language
        spread: dict[str, set[str]] = defaultdict(set)
        for question in all_questions():
            for text in _texts(question, language):
                for name in _count(text):
                    spread[name].add(question.id)
        total = len(all_questions())
        self._rarest = log(1 + total)
        self._rarity = {name: log(1 + total / len(ids)) for name, ids in spread.items()}
        self._weights = {
            text: self._weigh(_count(text))
            for question in all_questions()
            for text in question.asks[language]
        }
        self._worth = {each.id: self._find_worth(each, "") for each in all_questions()}

    def rank(self, text: str, without: str) -> Iterator[tuple[float, CommonQuestion]]:
        """Yield the questions with their similarity, the most similar first."""
        asked = self._weigh(_count(text))
        found = [(self._compare(text, asked, each, without), each) for each in all_questions()]
        yield from sorted(found, key=lambda pair: -pair[0])

    def agrees(self, text: str, question: CommonQuestion, without: str) -> bool:
        """Return whether a sentence shares enough telling words with the examples of a question.

        A single one is enough if no other question has it and the nearest example has few, or if
        neither the sentence nor one of the examples has another.
        """
        examples = [each for each in question.asks[self._language] if each != without]
        told, own = _tell(text), {_tell(each) for each in examples}
        shared = told & frozenset().union(*own)
        if len(shared) != 1 or (shared == told and shared in own):
            return len(shared) > 0
        holding = {
            entry.id
            for entry in all_questions()
            for each in chain.from_iterable(entry.asks.values())
            if each != without and shared <= _tell(each)
        }
        asked = self._weigh(_count(text))
        nearest = max(examples, key=lambda each: _cosine(asked, self._weights[each]))
        return len(holding) == 1 and len(_tell(nearest)) <= _MOST_TELLING

    def _compare(self, text: str, asked: Weights, question: CommonQuestion, without: str) -> float:
        examples = [each for each in question.asks[self._language] if each != without]
        if any(_bare(each) == _bare(text) for each in examples):
            return 1.0
        nearest = max(_cosine(asked, self._weights[each]) for each in examples)
        whole = len(examples) == len(question.asks[self._language])
        worth = self._worth[question.id] if whole else self._find_worth(question, without)
        return (self._cover(asked, worth) + nearest) / 2

    def _cover(self, asked: Weights, worth: Weights) -> float:
        """Return the share of a message's words that occur in a question."""
        words = {name: weight**2 for name, weight in asked.items() if " " not in name}
        covered = sum(weight * worth.get(name, 0.0) for name, weight in words.items())
        return covered / (sum(words.values()) + (_DOUBT * self._rarest) ** 2)

    def _find_worth(self, question: CommonQuestion, without: str) -> Weights:
        """Return the weight of each stem of a question, which depends on where it occurs."""
        own = [each for each in question.asks[self._language] if each != without]
        foreign = [
            each for name in LANGUAGES if name != self._language for each in question.asks[name]
        ]
        answer = [question.answer.get(self._language, "")]
        worth = dict.fromkeys(_names(answer), _ANSWERED)
        return worth | dict.fromkeys(_names(foreign), _FOREIGN) | dict.fromkeys(_names(own), 1.0)

    def _weigh(self, counted: Weights) -> Weights:
        unknown = _UNKNOWN * self._rarest
        return {name: weight * self._rarity.get(name, unknown) for name, weight in counted.items()}


def _cosine(one: Weights, other: Weights) -> float:
    product = sum(weight * other.get(name, 0.0) for name, weight in one.items())
    if not product:
        return 0.0
    lengths = (sum(weight**2 for weight in each.values()) for each in (one, other))
    return product / sqrt(prod(lengths))


def _texts(question: CommonQuestion, language: Language) -> Iterator[str]:
    for name in LANGUAGES:
        yield from question.asks[name]
    yield question.answer.get(language, "")


def _names(texts: Iterable[str]) -> set[str]:
    return {name for text in texts for name in _count(text)}


@cache
def _tell(text: str) -> frozenset[str]:
    """Return the stems of the telling words of a text."""
    return frozenset(map(stem, find_telling(text)))


@cache
def _count(text: str) -> Weights:
    """Return the stems of a text and its pairs of adjacent stems, with their weights."""
    words = _WORD.findall(fold(text))
    worth = {word: _value(word) for word in words}
    pairs = {
        f"{stem(one)} {stem(other)}": _PAIR * max(worth[one], worth[other])
        for one, other in pairwise(words)
    }
    return {stem(word): worth[word] for word in words} | pairs


def _value(word: str) -> float:
    if word[0].isdigit():
        return _NUMBER
    return _FUNCTION if word in _function_words() else 1.0


@cache
def _bare(text: str) -> str:
    return " ".join(_WORD.findall(fold(text)))


@cache
def _function_words() -> frozenset[str]:
    return frozenset(word for said in function_words() for word in _WORD.findall(fold(said)))
