"""Finds leaks: prompts that contain the answer that the model should learn."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from ftc.compiler.resolve.content.answer_kinds import said_by
from ftc.compiler.resolve.content_facts import Leak
from ftc.compiler.resolve.facts import Label
from ftc.compiler.resolve.rows.example import Example
from ftc.runtime.read.cleaning import fold

_MOST_ROWS: Final = 2000
_MOST_CHARS: Final = 20_000
_FEWEST_ROWS: Final = 20
_COMPARED_ROWS: Final = 200  # with all labels
_LONGEST_CHARS: Final = 200
_FEWEST_WORDS: Final = 4
_MOST_PLACES: Final = 8
_CONTEXT_CHARS: Final = 14
_LABEL_SHARE: Final = 0.9
_ALONE_SHARE: Final = 0.8
_CONTEXT_SHARE: Final = 0.8
_BEHIND: Final = r"[:=|\[(<>\"'#\n][ \t]{0,4}"  # characters before a value, and not before a word
_MARKED: Final = "marked"
_SIGNS: Final = re.compile(r"[\W_]+")
#: Words that announce an answer, in the three languages of ftc's messages.
_ANNOUNCED: Final = re.compile(
    r"(?:answer|solution|label|categor(?:y|ia|\u00eda)|class|output|target|gold|reference|expected"
    r"|ground.truth|respuesta|resposta|soluci[o\u00f3]n?|etiqueta|####|boxed\{)"
    r"\W*(?:(?:is|es|\u00e9s)\W*)?$"
)


def find_leak(
    examples: Sequence[Example], labels: Sequence[Label], *, sampled: bool
) -> Leak | None:
    """Return how many prompts contain their answer; None unless nearly all of them do.

    For labels, a prompt counts if it contains no other label, since a prompt may list all of them.
    Other answers count if they end prompts, or follow the same words in them. If the answers are
    `sampled` in training (GRPO), these can be any words, otherwise only words that announce an
    answer.
    """
    asked = [each for each in examples if each.prompt and each.prompt[-1][0] == "user"]
    some = asked[:: max(1, -(-len(asked) // _MOST_ROWS))]
    if len(some) < _FEWEST_ROWS:
        return None
    return _find_labels(some, labels) if labels else _find_answers(some, sampled=sampled)


def count_echoes(examples: Sequence[Example]) -> int:
    """Return in how many rows the answer is the whole question, ignoring white space."""
    return sum(
        example.prompt[-1][1] == said and example.prompt[-1][0] == "user"
        for example in examples
        if example.prompt and not example.compares and (said := said_by(example))
    )


def count_beginnings(examples: Sequence[Example]) -> int:
    """Return in how many rows the answer begins with the whole question of several words.

    A definition may well begin with the word or the name that it defines.
    """
    return sum(
        _begins(said_by(example), example.prompt[-1][1])
        for example in examples
        if example.prompt and example.prompt[-1][0] == "user" and not example.compares
    )


def _begins(answer: str, question: str) -> bool:
    """Return whether the answer begins with the question, which has several words."""
    if not answer.startswith(question) or len(question.split()) < _FEWEST_WORDS:
        return False
    return not (answer[len(question) :][:1].isalnum() and question[-1:].isalnum())


def _find_labels(some: Sequence[Example], labels: Sequence[Label]) -> Leak | None:
    """Count the prompts that contain only their own label, outside a sentence."""
    if len(labels) < 2:  # noqa: PLR2004 - one label alone tells nothing
        return None
    words = {label.name: _words(label.name) for label in labels}
    spelt = [word for word in words.values() if word.strip()]
    held: list[tuple[str, str]] = []
    places: Counter[str] = Counter()
    for example in some:
        text, word = _words(_asked(example)), words.get(example.answer, "")
        if word.strip() and word in text:
            held.append((text, word))
            places[_place(example, text, word)] += 1
    own, few = len(held), held[:_COMPARED_ROWS]
    if own < _LABEL_SHARE * len(some):
        return None
    alone = sum(not any(o in text for o in spelt if o not in word) for text, word in few)
    if alone < _ALONE_SHARE * len(few):
        return None
    marked = places.pop(_MARKED, 0)
    places.pop("", None)
    beside = places.most_common(1)[0][1] if places else 0
    varied = places.total() if 2 * beside < places.total() else 0
    if varied + marked < _ALONE_SHARE * own:
        return None
    return Leak(kind="label", rows=own, looked_rows=len(some))


def _place(example: Example, text: str, word: str) -> str:
    """Return the place of a label: after a sign, at an end beside a word, or "" in a sentence."""
    label, asked = re.escape(example.answer.casefold()), _asked(example).casefold()
    if (
        not example.answer.isalnum()
        and " " not in example.answer
        and example.answer.casefold() in asked
    ):
        return _MARKED
    if re.search(rf"{_BEHIND}{label}(?!\w)", asked):
        return _MARKED
    if text.endswith(word):
        return "end " + text[: -len(word)].rpartition(" ")[2]
    return "start " + text[len(word) :].partition(" ")[0] if text.startswith(word) else ""


def _find_answers(some: Sequence[Example], *, sampled: bool) -> Leak | None:
    before: Counter[str] = Counter()
    at_end = 0
    for example in some:
        answer = fold(said_by(example)).casefold()
        text = fold(_asked(example)).casefold()
        if 0 < len(answer) <= _LONGEST_CHARS and answer != text:
            before.update(set(_contexts(text, answer, announced=not sampled)))
            at_end += _is_at_end(text, answer)
    if at_end >= _CONTEXT_SHARE * len(some) and at_end > max(before.values(), default=0):
        return Leak(kind="end", rows=at_end, looked_rows=len(some))
    if not before:
        return None
    words, rows = max(before.items(), key=lambda item: (item[1], item[0]))
    if rows < _CONTEXT_SHARE * len(some):
        return None
    return Leak(kind="answer", rows=rows, looked_rows=len(some), before=words.strip())


def _is_at_end(text: str, answer: str) -> bool:
    """Return whether a text ends with the answer as a separate word, ignoring punctuation."""
    place = text.rfind(answer)
    if place < 1 or text[place - 1].isalnum():
        return False
    return not any(map(str.isalnum, text[place + len(answer) :]))


def _contexts(text: str, answer: str, *, announced: bool) -> Iterator[str]:
    """Yield the words before each occurrence of the answer as a separate word."""
    end = len(text)
    for _ in range(_MOST_PLACES):
        place = text.rfind(answer, 0, end)
        if place < 0:
            return
        after = text[place + len(answer) : place + len(answer) + 1]
        context = text[max(0, place - _CONTEXT_CHARS) : place]
        if not after.isalnum() and not context[-1:].isalnum() and context.strip():
            said = _ANNOUNCED.search(context)
            if said:
                yield said[0]
            elif not announced:
                yield context
        end = place + len(answer) - 1


def _asked(example: Example) -> str:
    return "\n".join([text for _, text in example.prompt])[-_MOST_CHARS:]


def _words(text: str) -> str:
    return f" {_SIGNS.sub(' ', text.casefold()).strip()} "
