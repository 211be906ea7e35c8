"""Classifies the answers of rows: a closed set of labels, final numbers, refusals, cut answers."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from ftc.compiler.resolve.content_facts import CutAnswers, OpenAnswers
from ftc.compiler.resolve.facts import Label
from ftc.compiler.resolve.rows.example import Example
from ftc.runtime.metric.numeric_match import NUMBER

#: How data sets of worked problems announce the number that an answer ends with.
_FINAL_NUMBER: Final = re.compile(
    r"(?:####|boxed\s*\{|(?:answer|result|resposta|respuesta|resultado|resultat)"
    r"\s*(?:is|es|\u00e9s|[:=])\s*:?)\s*\$?\s*"
    rf"[$\u20ac\u00a3]?\s*{NUMBER.pattern}[^\d\n]{{0,20}}\Z",
    re.IGNORECASE,
)
_LOOKED_AT: Final = 120  # characters at an end of an answer
#: How a model declines, in the languages of ftc's messages.
_REFUSAL: Final = re.compile(
    r"(?:i(?:'|\u2019)?m (?:very )?sorry|sorry|i apologi[sz]e|unfortunately|as an ai\b"
    r"|lo siento|lo lamento|ho sento|em sap greu)?[\s,.;:-]*(?:but )?(?:as an ai[^,.]{0,40}, ?)?"
    r"(?:i(?:'|\u2019)?m (?:not able|unable)|i (?:can(?:not|'t|\u2019t)|could not|couldn't|won't"
    r"|am (?:not able|unable))|pero no puedo|no puedo|per\u00f2 no puc|no puc)\b",
    re.IGNORECASE,
)
_FEWEST_CUT: Final = 20
_CUT_SHARE: Final = 0.5
_SHORTEST_CUT: Final = 40  # characters; labels and codes have one length by nature
_FEWEST_WORDS: Final = 5
_FRAGMENT_SHARE: Final = 0.2  # of the cut answers end with a part of a word
_STRIPPED: Final = 2  # characters that cleaning may take from the end of a cut answer
_ENDINGS: Final = tuple(".!?:;\"')]}>*`|\u3002\uff01\uff1f\u00bb\u201d\u2019")
_ELLIPSES: Final = ("...", "\u2026")
MOST_LABELS: Final = 200
MOST_CLASSES: Final = 1000  # of a classification head; fewer classes could also be written as words
_LONGEST_CHARS: Final = 80
FEWEST_ROWS_EACH: Final = 5  # on average


@dataclass(slots=True, kw_only=True)
class LabelCount:
    """Counts answers until they are no closed set; `open_by` is the reason."""

    counts: Counter[str] = field(default_factory=Counter)
    open_by: OpenAnswers | None = None

    def add(self, answer: str) -> None:
        """Count one answer."""
        if self.open_by is not None:
            return
        self.counts[answer] += 1
        if len(answer) > _LONGEST_CHARS:
            self.open_by = OpenAnswers(reason="length", number=len(answer), most=_LONGEST_CHARS)
        elif len(self.counts) > MOST_CLASSES:
            self.open_by = OpenAnswers(reason="values", number=len(self.counts), most=MOST_CLASSES)
        if self.open_by is not None:
            self.counts.clear()

    def why_open(self, most: int = MOST_LABELS) -> OpenAnswers | None:
        """Return why the answers are not a closed set of at most `most` labels; None if they are.

        Uncounted answers are not a closed set either.
        """
        values, rows = len(self.counts), self.counts.total()
        if self.open_by is not None:
            return self.open_by
        if values > most:
            return OpenAnswers(reason="values", number=values, most=most)
        if rows < FEWEST_ROWS_EACH * values:
            return OpenAnswers(reason="rows", number=rows, most=values)
        return None

    def labels(self, most: int = MOST_LABELS) -> tuple[Label, ...]:
        """Return the closed set by name; empty unless each label has enough rows."""
        if self.why_open(most) is not None:
            return ()
        return tuple(Label(name=name, rows=rows) for name, rows in sorted(self.counts.items()))


def said_by(example: Example) -> str:
    """Return the learned answer: the chosen one of a preference, or a whole text."""
    return "" if example.is_prompt else example.turns[len(example.prompt)][1]


def count_documents(examples: Sequence[Example]) -> int:
    """Return how many different texts belong to the examples' prompts."""
    return len({said_by(example) for example in examples})


def count_final_numbers(examples: Sequence[Example]) -> int:
    """Return how many answers are a number, or end with an announced number (`#### 42`)."""
    answers = [example.answer for example in examples if example.prompt and not example.compares]
    return sum(map(_is_final_number, answers))


def _is_final_number(answer: str) -> bool:
    if NUMBER.fullmatch(answer):
        return True
    return _FINAL_NUMBER.search(answer[-_LOOKED_AT:]) is not None


def count_refusals(examples: Sequence[Example]) -> int:
    """Return how many answers begin by declining."""
    answers = (said_by(example) for example in examples if example.prompt)
    return sum(_REFUSAL.match(answer[:_LOOKED_AT]) is not None for answer in answers)


def find_cut(examples: Sequence[Example]) -> CutAnswers | None:
    """Return how many answers end in the middle of a sentence at the length of the longest.

    The result is None unless most do, some of them in the middle of a word, so that something has
    cut them at that length.
    """
    answers = {said_by(example) for example in examples if example.prompt}
    lengths = Counter(map(len, answers))
    most = max(lengths, default=0)
    if most < _SHORTEST_CUT:
        return None
    longest = [answer for answer in answers if len(answer) >= most - _STRIPPED]
    cut = [answer for answer in longest if _is_open(answer)]
    if len(cut) < max(_FEWEST_CUT, _CUT_SHARE * len(answers)) or not _ends_in_words(cut):
        return None
    return CutAnswers(rows=len(cut), characters=most)


def _ends_in_words(cut: Sequence[str]) -> bool:
    """Return whether many texts end with a part of a word that other texts have in full."""
    words = {word for answer in cut for word in answer.split()[:-1]}
    begun = {word[:end] for word in words for end in range(1, len(word))}
    last = [answer.split()[-1].removesuffix("...").removesuffix("\u2026") for answer in cut]
    fragments = sum(word.isalpha() and word in begun and word not in words for word in last)
    return fragments >= _FRAGMENT_SHARE * len(cut)


def _is_open(answer: str) -> bool:
    """Return whether a text of several words ends in the middle of a sentence."""
    if len(answer.split(maxsplit=_FEWEST_WORDS)) < _FEWEST_WORDS:
        return False
    return answer.endswith(_ELLIPSES) or not answer.endswith(_ENDINGS)


def count_questions(examples: Sequence[Example]) -> tuple[int, int]:
    """Return how many last questions end with a question mark, and how many answers do."""
    asked = [example for example in examples if example.prompt and not example.compares]
    prompts = sum(example.prompt[-1][1].endswith("?") for example in asked)
    return prompts, sum(said_by(example).endswith("?") for example in asked)
