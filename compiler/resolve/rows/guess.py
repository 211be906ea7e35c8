"""A guess at the columns of prompts and answers from what they hold, to propose it to the user."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice

from ftc.compiler.resolve.rows.reader import Row
from ftc.compiler.resolve.rows.roles import is_answer_name, is_prompt_name
from ftc.runtime.read.compared_rows import VERDICTS
from ftc.runtime.read.rows import ReadTurns
from ftc.runtime.read.text_rows import read_cell
from ftc.spec.columns.usual_names import usual_name

_ROWS = 200
_FILLED_SHARE = 0.9
_FEWEST_WORDS = 3.0  # of a text, on average
_MOST_LABELS = 50
_LABEL_SHARE = 0.2  # distinct labels, of the rows
_LABEL_CHARS = 40
#: An SQL statement. A column named `query` may hold either these or questions.
_STATEMENT = re.compile(
    r"(?:select\b.+\bfrom|insert\s+into|update\b.+\bset|delete\s+from|with\b.+\bas\s*\(|create\s+table)\b",
    re.IGNORECASE | re.DOTALL,
)


def are_prompts(rows: Iterable[Row | None], read: ReadTurns) -> bool:
    """Return whether the first rows are conversations without answers."""
    found = {read(row) for row in islice(rows, _ROWS) if row}
    return "unanswered" in found and all(isinstance(turns, str) for turns in found)


def can_read(rows: Iterable[Row | None], read: ReadTurns) -> bool:
    """Return whether one of the first rows can be read, apart from images, which `read` lacks."""
    found = (read(row) for row in islice(rows, _ROWS) if row)
    return any(turns == "image_part" or not isinstance(turns, str) for turns in found)


def guess_columns(
    columns: Sequence[str], rows: Iterable[Row | None]
) -> tuple[str, str | None] | None:
    """Return the columns of prompt and answer, or None if the first rows leave a choice.

    Two text columns are prompt and answer, in their order, unless the second is named as prompts.
    A column of SQL statements is the answer to the other one.
    One text column with one label column is the prompt. One text column alone is a prompt without
    answers, unless some rows have a text in another column. Where a column named as answers holds
    lists or objects, no other column is the answer.
    """
    seen = [row for row in islice(rows, _ROWS) if row]
    answers = [name for name in columns if is_answer_name(usual_name(name))]
    if any(isinstance(row.get(name), list | dict) for row in seen for name in answers):
        return None
    cells = {name: [(read_cell(row.get(name)) or "").strip() for row in seen] for name in columns}
    filled = {
        name: texts
        for name, texts in cells.items()
        if texts and sum(map(bool, texts)) >= _FILLED_SHARE * len(texts)
    }
    written = [name for name, texts in filled.items() if _are_texts(texts)]
    labels = [name for name, texts in filled.items() if _are_labels(texts)]
    partly = [name for name, texts in cells.items() if name not in filled and any(texts)]
    statements = [name for name in written if _are_statements(filled[name])]
    match written, labels:
        case [one, other], _ if len(statements) == 1:
            return (other, one) if statements == [one] else (one, other)
        case [one, other], _ if is_prompt_name(other):
            return (other, one) if is_answer_name(usual_name(one)) else None
        case [prompt, answer], _:
            return prompt, answer
        case [prompt], [label]:
            return prompt, label
        case [prompt], [] if not partly:
            return prompt, None
    return None


def guess_verdicts(columns: Sequence[str], rows: Iterable[Row | None]) -> str | None:
    """Return the only column whose words say that answers are good or bad; None without one."""
    seen = [row for row in islice(rows, _ROWS) if row]
    found = []
    for name in columns:
        cells = [cell for row in seen if (cell := row.get(name)) not in (None, "")]
        is_filled = bool(cells) and len(cells) >= _FILLED_SHARE * len(seen)
        words = {VERDICTS.get(str(cell).strip().lower()) for cell in cells}
        if is_filled and words == {"true", "false"}:
            found.append(name)
    return found[0] if len(found) == 1 else None


def _are_texts(texts: Sequence[str]) -> bool:
    words = sum(len(text.split()) for text in texts) / len(texts)
    return words >= _FEWEST_WORDS and not _are_labels(texts)


def _are_statements(texts: Sequence[str]) -> bool:
    return sum(_STATEMENT.match(text) is not None for text in texts) >= _FILLED_SHARE * len(texts)


def _are_labels(texts: Sequence[str]) -> bool:
    distinct = set(texts)
    few = 1 < len(distinct) <= min(_MOST_LABELS, _LABEL_SHARE * len(texts))
    return few and max(map(len, distinct)) <= _LABEL_CHARS
