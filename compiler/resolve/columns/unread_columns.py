"""Finds columns that training ignores although the answers depend on them.

A column is needed if its text has the words that an answer adds to its prompt, and the texts of
other rows have them less often, or if its name shows that it belongs before the question. A column
that also has the prompt is a copy of the whole row, and a column with a name for answers explains
them. A column of verdicts is needed too, since otherwise bad answers are learned.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from ftc.compiler.resolve.columns.beside_answers import (
    count_items,
    find_explaining,
    find_names,
    find_options,
)
from ftc.compiler.resolve.rows.reader import Row
from ftc.compiler.resolve.rows.roles import (
    Roles,
    find_rivals,
    is_answer_name,
    is_verdict_name,
)
from ftc.runtime.read.chat_rows import content_of, find_role, join_texts
from ftc.runtime.read.compared_rows import VERDICTS
from ftc.runtime.read.text_rows import read_cell
from ftc.spec.columns.usual_names import usual_name
from ftc.spec.sections import Columns

_ROWS: Final = 1000  # enough for a share
_CHARS: Final = 8000
_FEWEST_ROWS: Final = 20
#: A word in a larger share of the answers is not specific to one of them.
_COMMON_SHARE: Final = 0.2
#: The minimum ratio at which the row's own text has the answer's words, compared with other rows.
_LEAST_LEAD: Final = 0.25
_COPY_SHARE: Final = 0.9  # of the words of a prompt, in a column that repeats the row
_FILLED_SHARE: Final = 0.5
_EARLIER_SHARE: Final = 0.05  # of rows with earlier turns
_OTHER_SHARE: Final = 0.1  # of rows, in a column that is no copy of another
_FEWEST_BAD: Final = 0.02  # share of rows
_WHOLE: Final = re.compile(r"[0-9]{1,18}")
_WORD: Final = re.compile(r"\w{2,}")
#: Usual names of columns that a question is about.
_BEFORE: Final = frozenset(
    {
        *("context", "contexts", "passage", "evidence", "background", "knowledge", "schema"),
    }
)
#: Columns of turns before a question. The first question of a conversation has none.
_EARLIER: Final = frozenset({"history", "chat_history", "previous_turns"})
#: Columns of system messages.
_SYSTEMS: Final = frozenset(
    {"system", "system_prompt", "system_message", "system_instruction", "systeminstruction"}
)
_LONGEST_SYSTEM: Final = 500  # characters of a text that is the same in every row

#: Names of a column that has the split of each row, and its values by split.
_SPLIT_NAMES: Final = frozenset({"split", "subset", "set", "partition", "fold", "phase"})
_SPLITS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("train", "training", "trn"), "train"),
    **dict.fromkeys(("validation", "valid", "val", "dev", "eval", "evaluation"), "validation"),
    **dict.fromkeys(("test", "testing", "holdout", "held_out", "heldout"), "test"),
}

#: Names of a column that says who wrote the text of a row.
_WRITERS: Final = frozenset(
    {
        *("role", "speaker", "author", "sender", "from", "user", "user_id", "username"),
        *("sender_id", "author_id", "from_id", "participant", "name"),
    }
)
#: Keys of an author that a chat export writes as an object; the first with a text counts.
_NAMES_OF_WRITERS: Final = ("role", "username", "name", "displayname", "id")
_LEAST_SPOKEN: Final = 0.9  # share of rows that name a writer
_FEWEST_WRITERS: Final = 2
_ROWS_OF_ONE: Final = 5  # of a writer, on average
_MESSAGE_CHARS: Final = 300  # of a message, on average, since documents have authors as well

_Words = frozenset[str]


@dataclass(slots=True, kw_only=True)
class UnreadColumns:
    """Looks at the columns without a role in the first rows; `roles` are those of the others.

    `named` are the roles that the spec gives.
    """

    columns: Sequence[str]
    roles: Roles
    named: Columns = field(default_factory=Columns)
    _rows: list[Mapping[str, str]] = field(default_factory=list)
    _sizes: list[Mapping[str, int]] = field(default_factory=list)

    def watch(self, rows: Iterator[Row | None]) -> Iterator[Row | None]:
        """Yield the rows unchanged, and keep the texts of the first ones."""
        kept = (*self.columns, *self.roles.columns())
        for row in rows:
            if row and self.columns and len(self._rows) < _ROWS:
                self._rows.append({name: _read_column(name, row.get(name)) for name in kept})
                self._sizes.append({name: count_items(row.get(name)) for name in self.columns})
            yield row

    def found(self) -> dict[str, Any]:
        """Return the facts found in the rows."""
        return {
            "needed_columns": self.find_needed(),
            "system_columns": self.find_systems(),
            "bad_rows": self.find_bad(),
            "split_columns": self.find_splits(),
            "rival_columns": self.find_rivals(),
            "speaker_columns": self.find_speakers(),
            **self.find_beside_answers(),
        }

    def find_beside_answers(self) -> dict[str, Any]:
        """Return the columns of explanations, of options, and of the names of numbered answers.

        An answer that the spec names is meant without an explanation.
        """
        said = self._answer
        if said is None or len(self._rows) < _FEWEST_ROWS:
            return {}
        is_named = said in (self.named.completion, self.named.output)
        return {
            "explaining_columns": ()
            if is_named
            else find_explaining(self._rows, self.columns, said),
            "option_columns": find_options(
                self._rows,
                self._sizes,
                self.columns,
                prompt=self.roles.prompt or self.roles.instruction,
                answer=said,
            ),
            "label_names": find_names(self._rows, self.columns, said),
        }

    def find_needed(self) -> dict[str, int]:
        """Return the columns that answers depend on, each with the number of rows with text."""
        found = {name: sum(bool(row[name]) for row in self._rows) for name in self.columns}
        return {
            name: rows
            for name, rows in found.items()
            if rows >= _least_share(name) * len(self._rows) and rows and self._is_needed(name)
        }

    def find_systems(self) -> dict[str, str]:
        """Return the columns of system messages, each with its text if all rows have the same."""
        found: dict[str, str] = {}
        for name in self.columns:
            texts = {row[name] for row in self._rows} if usual_name(name) in _SYSTEMS else set()
            if texts - {""}:
                text = texts.pop() if len(texts) == 1 else ""
                found[name] = text if len(text) <= _LONGEST_SYSTEM else ""
        return found

    def find_rivals(self) -> dict[str, str]:
        """Return the columns named like one with a role, with that one; copies are left out."""
        return {
            name: column
            for name, column in find_rivals(self.roles, self.columns, self.named).items()
            if self._differs(name, column)
        }

    def _differs(self, name: str, column: str) -> bool:
        """Return whether most rows have text in a column, and many a different one in the other."""
        filled = [row for row in self._rows if row[name]]
        other = sum(row[name] != row[column] for row in filled)
        return len(filled) > _FILLED_SHARE * len(self._rows) and other > _OTHER_SHARE * len(filled)

    def find_bad(self) -> dict[str, int]:
        """Return the columns of verdicts, each with the number of rows that are judged bad."""
        found: dict[str, int] = {}
        for name in filter(is_verdict_name, self.columns):
            said = Counter(VERDICTS.get(row[name].lower()) for row in self._rows if row[name])
            if said.keys() == {"true", "false"} and said["false"] >= _FEWEST_BAD * said.total():
                found[name] = said["false"]
        return found

    def find_speakers(self) -> tuple[str, ...]:
        """Return the columns with the author of each row, if a row is a single text.

        These are roles of conversations, or a few writers of short texts under a usual name.
        """
        own = self.roles.text
        if own is None or len(self._rows) < _FEWEST_ROWS:
            return ()
        is_short = sum(len(row[own]) for row in self._rows) <= _MESSAGE_CHARS * len(self._rows)
        found = []
        for name in self.columns:
            said = Counter(row[name] for row in self._rows if row[name])
            if said.total() < _LEAST_SPOKEN * len(self._rows) or len(said) < _FEWEST_WRITERS:
                continue
            roles = {find_role(writer) for writer in said}
            is_named = (
                is_short
                and usual_name(name) in _WRITERS
                and said.total() >= _ROWS_OF_ONE * len(said)
            )
            if roles <= {"user", "assistant", "system", "tool"} or is_named:
                found.append(name)
        return tuple(found)

    def find_splits(self) -> dict[str, int]:
        """Return the columns of splits, each with the number of rows that are not for training."""
        found: dict[str, int] = {}
        for name in self.columns:
            if usual_name(name).rpartition("_")[2] not in _SPLIT_NAMES:
                continue
            said = Counter(_SPLITS.get(row[name].lower(), "") for row in self._rows if row[name])
            if len(said) > 1 and "" not in said and "train" in said:
                found[name] = said.total() - said["train"]
        return found

    def _is_needed(self, name: str) -> bool:
        asked, said = self.roles.prompt or self.roles.instruction, self._answer
        usual = usual_name(name)
        if usual in _SYSTEMS or _tells_nothing([row[name] for row in self._rows]):
            return False
        if asked is None or said is None:
            return usual in _BEFORE | _EARLIER
        rows = [row for row in self._rows if row[name] and row[said]]
        prompts = [_split(row[asked]) for row in rows]
        texts = [_split(row[name]) for row in rows]
        if _share(prompts, texts) >= _COPY_SHARE or is_answer_name(usual):
            return False
        if usual in _BEFORE | _EARLIER:
            return True
        added = _drop_common(
            [_split(row[said]) - own for row, own in zip(rows, prompts, strict=True)]
        )
        told = [(words, text) for words, text in zip(added, texts, strict=True) if words]
        if len(told) < _FEWEST_ROWS:
            return False
        words, own = zip(*told, strict=True)
        return _share(words, own) - _share(words, _take_others(own)) >= _LEAST_LEAD

    @property
    def _answer(self) -> str | None:
        return self.roles.completion or self.roles.output


def _read_column(name: str, cell: Any) -> str:
    """Return the text of a cell; for an author that is an object, the name."""
    if isinstance(cell, dict) and usual_name(name) in _WRITERS:
        named = {usual_name(str(key)): value for key, value in cell.items()}
        return next(filter(None, (_read_text(named.get(key)) for key in _NAMES_OF_WRITERS)), "")
    return _read_text(cell)


def _read_text(cell: Any) -> str:
    """Return the text of a cell, or of its parts as Bedrock and Gemini write a system prompt."""
    cell = join_texts(content_of(cell) if isinstance(cell, dict) else cell)
    if isinstance(cell, list):  # of earlier turns, or of passages
        cell = "\n".join(filter(None, map(_read_text, cell)))
    return (read_cell(cell) or "").strip()[:_CHARS]


def _least_share(name: str) -> float:
    return _EARLIER_SHARE if usual_name(name) in _EARLIER else _FILLED_SHARE


def _tells_nothing(texts: Sequence[str]) -> bool:
    """Return whether a column has one text in all rows, or the numbers of the rows."""
    if len(set(texts)) == 1:
        return True
    if not all(_WHOLE.fullmatch(text) for text in texts):
        return False
    numbers = list(map(int, texts))
    return len({after - before for before, after in pairwise(numbers)}) == 1


def _split(text: str) -> _Words:
    return frozenset(_WORD.findall(text.casefold()))


def _drop_common(answers: Sequence[_Words]) -> list[_Words]:
    """Return the words without those that many of the answers have."""
    counts = Counter(word for words in answers for word in words)
    most = max(1.0, _COMMON_SHARE * len(answers))
    return [frozenset(word for word in words if counts[word] <= most) for words in answers]


def _share(wanted: Sequence[_Words], texts: Sequence[_Words]) -> float:
    """Return the mean share of the wanted words in the texts, over texts with wanted words."""
    shares = [len(w & text) / len(w) for w, text in zip(wanted, texts, strict=True) if w]
    return sum(shares) / len(shares) if shares else 0.0


def _take_others(texts: Sequence[_Words]) -> list[_Words]:
    """Return for each text the last different text before it; the first gets the next one."""
    others: list[_Words] = []
    different: _Words = next((text for text in texts if text != texts[0]), frozenset())
    for before, text in pairwise((texts[0], *texts)):
        different = before if before != text else different
        others.append(different)
    return others
