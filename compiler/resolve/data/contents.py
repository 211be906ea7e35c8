"""What the texts of rows hold that they should not: one look at the examples of a source."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from itertools import chain
from typing import Any, Final

from ftc.compiler.resolve.content_facts import Contents, Leak, Markers, ToolUse
from ftc.compiler.resolve.data.answer_kinds import (
    count_final_numbers,
    count_questions,
    count_refusals,
    find_cut,
    said_by,
)
from ftc.compiler.resolve.data.leaks import count_beginnings, count_echoes, find_leak
from ftc.compiler.resolve.data.markers import KnownMarkers, find_markers
from ftc.compiler.resolve.data.private import count_personal, count_secrets
from ftc.compiler.resolve.data.scan import Scan
from ftc.compiler.resolve.data.tool_use import find_tool_use
from ftc.compiler.resolve.facts import Label
from ftc.compiler.resolve.rows.example import Example

#: Rows that are looked at, spread evenly: a share needs no more.
_MOST_ROWS: Final = 20_000
#: Values that programs write where one is missing, in lower case.
_MISSING: Final = frozenset(
    {
        "nan", "null", "<na>", "nat", "#n/a", "undefined", "none", "n/a", "na", "nil",
        "-", "--", "\u2013", "\u2014",
    }
)  # fmt: skip
_LONGEST_MISSING: Final = max(map(len, _MISSING))
_NAMED: Final = re.compile(r"\w")


def look_into(
    scan: Scan, labels: Sequence[Label], known: KnownMarkers, *, sampled: bool
) -> Contents:
    """Return what the examples of a source hold; `sampled`: answers are sampled in training."""
    examples = scan.examples[:: max(1, -(-len(scan.examples) // _MOST_ROWS))]
    personal, personal_looked = count_personal(examples)
    asking_prompts, asking_answers = count_questions(examples)
    return Contents(
        looked_rows=len(examples),
        markers=find_markers(examples, known),
        missing_answers=_count_missing([said_by(example) for example in examples], examples),
        missing_prompts=_count_missing([_asked(example) for example in examples], ()),
        tool_use=find_tool_use(examples, unmatched_rows=scan.unmatched),
        leak=find_leak(examples, labels, sampled=sampled),
        echo_rows=count_echoes(examples),
        begun_rows=count_beginnings(examples),
        contradicting_rows=scan.contradicting,
        secrets=count_secrets(examples),
        personal=personal,
        personal_looked_rows=personal_looked,
        numbered_rows=count_final_numbers(examples),
        refused_rows=count_refusals(examples),
        cut=find_cut(examples),
        asking_prompts=asking_prompts,
        asking_answers=asking_answers,
        reasoned_rows=sum(example.reasons for example in examples),
    )


def add_contents(parts: Sequence[Contents]) -> Contents:
    """Return what several sources hold together."""
    added: dict[str, Any] = {name: sum(getattr(p, name) for p in parts) for name in _NUMBERS}
    added |= {name: _add([getattr(part, name) for part in parts]) for name in _COUNTS}
    return Contents(
        **added,
        markers=_add_markers([part.markers for part in parts]),
        tool_use=_add_tool_use([part.tool_use for part in parts if part.tool_use is not None]),
        leak=_add_leaks([part.leak for part in parts]),
        cut=max(
            (part.cut for part in parts if part.cut is not None),
            key=lambda cut: cut.rows,
            default=None,
        ),
    )


_NUMBERS: Final = (
    "looked_rows", "echo_rows", "begun_rows", "contradicting_rows", "personal_looked_rows",
    "numbered_rows", "refused_rows", "asking_prompts", "asking_answers",
    "reasoned_rows",
)  # fmt: skip
_COUNTS: Final = ("missing_answers", "missing_prompts", "secrets", "personal")


def _add(counts: Sequence[Any]) -> dict[str, int]:
    return dict(sorted(sum(map(Counter, counts), Counter[str]()).items()))


def _add_markers(parts: Sequence[Markers]) -> Markers:
    def joined(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(marker for part in parts for marker in getattr(part, name)))

    rows = ("turn_rows", "special_rows", "foreign_rows", "opened_rows")
    return Markers(
        **{name: sum(getattr(part, name) for part in parts) for name in rows},
        turn_markers=joined("turn_markers"),
        special_tokens=joined("special_tokens"),
        opening=next((part.opening for part in parts if part.opening), ""),
    )


def _add_tool_use(parts: Sequence[ToolUse]) -> ToolUse | None:
    if not parts:
        return None
    added: dict[str, Any] = {}
    for name in (field.name for field in fields(ToolUse)):
        values = [getattr(part, name) for part in parts]
        is_number = isinstance(values[0], int)
        added[name] = sum(values) if is_number else tuple(dict.fromkeys(chain(*values)))
    return ToolUse(**added)


def _add_leaks(parts: Sequence[Leak | None]) -> Leak | None:
    """Return the leak of the source with the most rows; each source has its own prompts."""
    found = [part for part in parts if part is not None]
    return max(found, key=lambda leak: leak.rows, default=None)


def _asked(example: Example) -> str:
    prompt = example.prompt
    return prompt[-1][1] if prompt and prompt[-1][0] == "user" else ""


def _count_missing(texts: Sequence[str], examples: Sequence[Example]) -> dict[str, int]:
    """Count the texts that stand for a missing value, as they are written.

    A word that the example's own prompt names is an answer that was asked for.
    """
    counts: Counter[str] = Counter()
    for place, text in enumerate(texts):
        if not text or len(text) > _LONGEST_MISSING or text.casefold() not in _MISSING:
            continue
        if examples and _NAMED.search(text) and _is_named(text, examples[place]):
            continue
        counts[text] += 1
    return dict(sorted(counts.items()))


def _is_named(word: str, example: Example) -> bool:
    """Tell whether a prompt names a word as it is written."""
    pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
    return any(pattern.search(text) for _, text in example.prompt)
