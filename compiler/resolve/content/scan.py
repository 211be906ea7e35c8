"""One pass over a source: its counts and labels, and what its texts should not hold."""

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import Any, Final

from ftc.compiler.resolve.content.answer_kinds import (
    LabelCount,
    count_final_numbers,
    count_questions,
    count_refusals,
    find_cut,
    said_by,
)
from ftc.compiler.resolve.content.clip_parts import find_clip_part
from ftc.compiler.resolve.content.leaks import count_beginnings, count_echoes, find_leak
from ftc.compiler.resolve.content.markers import KnownMarkers, find_markers
from ftc.compiler.resolve.content.markup import count_foreign
from ftc.compiler.resolve.content.near_duplicates import PromptCount
from ftc.compiler.resolve.content.private import find_personal, find_secrets
from ftc.compiler.resolve.content.turns.strange_turns import find_strange_turn
from ftc.compiler.resolve.content.turns.tool_use import find_tool_use, has_unmatched_result
from ftc.compiler.resolve.content_facts import (
    Contents,
    Leak,
    Markers,
    OllamaRows,
    OpenAnswers,
    ToolUse,
)
from ftc.compiler.resolve.facts import Label
from ftc.compiler.resolve.rows.example import Example, read_example
from ftc.compiler.resolve.rows.reader import Row
from ftc.compiler.resolve.rows.roles import Roles, make_reader
from ftc.runtime.read.chat_rows import find_role, load_messages
from ftc.runtime.read.message_cells import read_answer
from ftc.runtime.read.reasoning import CLOSING
from ftc.runtime.read.rows import ReadTurns
from ftc.runtime.read.text_rows import read_texts
from ftc.spec.sections import Cleaning

#: Rows that are looked at, spread evenly: a share needs no more.
_MOST_ROWS: Final = 20_000
_MOST_ROLES: Final = 4  # unknown ones that are named
#: Values that programs write where one is missing, in lower case.
_MISSING: Final = frozenset(
    {
        "nan", "null", "<na>", "nat", "#n/a", "undefined", "none", "n/a", "na", "nil",
        "-", "--", "\u2013", "\u2014", "?", "n.a.", "(null)", "(none)", "<null>", "<none>",
        "#null!", "#ref!", "#value!", "#name?", "#div/0!",
    }
)  # fmt: skip
_LONGEST_MISSING: Final = max(map(len, _MISSING))
#: A text as Python shows a list of texts.
_LISTED: Final = re.compile(r"\[(?:'[^'\n]{0,200}'(?:, |(?=\])))+\]")
_LONGEST_EXAMPLE: Final = 60
_NAMED: Final = re.compile(r"\w")
_NUMBERS: Final = (
    "looked_rows", "echo_rows", "begun_rows", "contradicting_rows", "personal_looked_rows",
    "numbered_rows", "refused_rows", "asking_prompts", "asking_answers",
    "reasoned_rows", "weighed_rows", "neutral_rows",
    "listed_answers",
)  # fmt: skip
_COUNTS: Final = (
    "missing_answers", "missing_prompts", "secrets", "personal", "unseen_images",
    "unseen_videos", "unseen_audio", "needed_columns", "bad_rows", "split_columns", "foreign",
)  # fmt: skip
#: Examples kept of a large file, drawn with a fixed seed.
SAMPLE_ROWS: Final = 20_000
#: Rows whose numbers are kept for each reason to look at them.
MARKED_ROWS: Final = 5


@dataclass(slots=True, kw_only=True)
class Scan:
    """What the rows add up to; `kept` counts what cleaning leaves, `examples` a sample of it.

    `prompts` may hold those of earlier sources as well; `distinct_prompts` and `conflicting` count
    this one's own. `numbers` are those of the examples' rows, counted from 1; `faults` counts
    malformed rows and `damage` damaged ones, by kind; `unmatched` have results of unknown calls.
    `refusal` is what the chat template says where it refuses all rows; `strange_roles` are the
    names of unknown ones, and `strange_turn` what the first message that is no turn holds.
    `has_message_cells`: a row's prompt or completion is a list of messages;
    `has_reasoning`: a text ends reasoning. `marked` has the numbers of the first rows with each
    fault or damage.
    """

    rows: int = 0
    blank: int = 0
    duplicates: int = 0
    kept: int = 0
    multi_turn: bool = False
    has_system: bool = False
    calls: bool = False
    sampled: bool = False
    faults: Counter[str] = field(default_factory=Counter)
    damage: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    examples: list[Example] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    labels: LabelCount = field(default_factory=LabelCount)
    prompts: PromptCount = field(default_factory=PromptCount)
    distinct_prompts: int = 0
    conflicting: int = 0
    refusal: str = ""
    strange_roles: Counter[str] = field(default_factory=Counter)
    strange_turn: tuple[str, tuple[str, ...]] = ("", ())
    contradicting: int = 0
    unmatched: int = 0
    has_message_cells: bool = False
    has_reasoning: bool = False
    marked: dict[str, list[int]] = field(default_factory=dict)

    def mark(self, reason: str) -> None:
        """Keep the number of this row, if it is one of the first with the reason."""
        rows = self.marked.setdefault(reason, [])
        if len(rows) < MARKED_ROWS:
            rows.append(self.rows)

    def review(self) -> dict[str, tuple[int, ...]]:
        """Return the numbers that were kept, by reason."""
        return {reason: tuple(rows) for reason, rows in self.marked.items()}

    def list_strange_roles(self) -> tuple[str, ...]:
        """Return the names of unknown roles, the commonest first."""
        often = sorted(self.strange_roles.items(), key=lambda item: (-item[1], item[0]))
        return tuple(name for name, _ in often[:_MOST_ROLES])

    @property
    def malformed(self) -> int:
        """Count the rows that are not valid examples, without blank rows."""
        return self.faults.total()


def look_into(
    scan: Scan, labels: Sequence[Label], known: KnownMarkers, *, sampled: bool
) -> Contents:
    """Return what the examples of a source hold; `sampled`: answers are sampled in training."""
    step = max(1, -(-len(scan.examples) // _MOST_ROWS))
    examples = [example.texts for example in scan.examples[::step]]
    numbers = scan.numbers[::step]
    secrets = find_secrets(examples)
    personal, personal_looked = find_personal(examples)
    review = scan.review() | {
        kind: tuple(sorted(numbers[place] for place in places)[:MARKED_ROWS])
        for kind, places in (*secrets.items(), *personal.items())
    }
    asking_prompts, asking_answers = count_questions(examples)
    listed = [said for each in examples if _LISTED.fullmatch(said := said_by(each))]
    return Contents(
        looked_rows=len(examples),
        markers=find_markers(examples, known),
        missing_answers=_count_missing([said_by(example) for example in examples], examples),
        missing_prompts=_count_missing([_asked(example) for example in examples], ()),
        tool_use=find_tool_use(examples, unmatched_rows=scan.unmatched),
        leak=find_leak(examples, labels, sampled=sampled),
        foreign=count_foreign(examples),
        echo_rows=count_echoes(examples),
        begun_rows=count_beginnings(examples),
        contradicting_rows=scan.contradicting,
        secrets={kind: len(places) for kind, places in secrets.items()},
        personal={kind: len(places) for kind, places in personal.items()},
        personal_looked_rows=personal_looked,
        numbered_rows=count_final_numbers(examples),
        refused_rows=count_refusals(examples),
        cut=find_cut(examples),
        asking_prompts=asking_prompts,
        asking_answers=asking_answers,
        reasoned_rows=sum(example.reasons for example in examples),
        review=review,
        strange_roles=scan.list_strange_roles(),
        listed_answers=len(listed),
        listed_example=min(listed, key=len, default="")[:_LONGEST_EXAMPLE],
    )


def add_contents(parts: Sequence[Contents]) -> Contents:
    """Return what several sources hold together; the rows to look at stay with each source."""
    added: dict[str, Any] = {name: sum(getattr(p, name) for p in parts) for name in _NUMBERS}
    added |= {name: _add([getattr(part, name) for part in parts]) for name in _COUNTS}
    return Contents(
        **added,
        markers=_add_markers([part.markers for part in parts]),
        tool_use=_add_tool_use([part.tool_use for part in parts if part.tool_use is not None]),
        leak=_add_leaks([part.leak for part in parts]),
        ollama=_add_ollama([part.ollama for part in parts if part.ollama is not None]),
        cut=max(
            (part.cut for part in parts if part.cut is not None),
            key=lambda cut: cut.rows,
            default=None,
        ),
        strange_roles=tuple(dict.fromkeys(chain(*(part.strange_roles for part in parts)))),
        listed_example=next((part.listed_example for part in parts if part.listed_example), ""),
    )


def _add(counts: Sequence[Any]) -> dict[str, int]:
    return dict(sorted(sum(map(Counter, counts), Counter[str]()).items()))


def _add_markers(parts: Sequence[Markers]) -> Markers:
    def joined(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(marker for part in parts for marker in getattr(part, name)))

    rows = ("turn_rows", "special_rows", "foreign_rows", "opened_rows", "spoken_rows")
    return Markers(
        **{name: sum(getattr(part, name) for part in parts) for name in rows},
        turn_markers=joined("turn_markers"),
        special_tokens=joined("special_tokens"),
        opening=next((part.opening for part in parts if part.opening), ""),
        speakers=next((part.speakers for part in parts if part.speakers), ()),
    )


def _add_tool_use(parts: Sequence[ToolUse]) -> ToolUse | None:
    if not parts:
        return None
    added: dict[str, Any] = {}
    for name in (part.name for part in fields(ToolUse)):
        values = [getattr(part, name) for part in parts]
        is_number = isinstance(values[0], int)
        added[name] = sum(values) if is_number else tuple(dict.fromkeys(chain(*values)))
    return ToolUse(**added)


def _add_ollama(parts: Sequence[OllamaRows]) -> OllamaRows | None:
    if not parts:
        return None
    return OllamaRows(
        compared=sum(part.compared for part in parts),
        other=sum(part.other for part in parts),
        first=next((part.first for part in parts if part.first is not None), None),
    )


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
    """Return whether a prompt names a word as it is written."""
    pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
    return any(pattern.search(text) for _, text in example.prompt)


def scan_rows(
    rows: Iterable[Row | None],
    roles: Roles,
    cleaning: Cleaning,
    *,
    sample: bool,
    prompts: PromptCount | None = None,
    strip_reasoning: bool = False,
    read: ReadTurns | None = None,
) -> Scan:
    """Read every row once; `sample` bounds the examples kept, by a reservoir (algorithm R).

    `prompts` are those of the sources before, whose rows a copy may be of. With `strip_reasoning`
    answers lose the reasoning before them. `read` reads a row, by default what `roles` say.
    """
    scan, pick = Scan(prompts=prompts or PromptCount()), random.Random(0)  # noqa: S311 - a sample, no secret
    if roles.form in ("chat", "text", "preference", "feedback", "prompt"):
        scan.labels.open_by = OpenAnswers(reason="form", number=0, most=0)
    read = read or make_reader(roles)
    held = scan.prompts
    before = (held.distinct(), held.conflicting, held.contradicting)
    for row in rows:
        scan.rows += 1
        scan.has_message_cells = scan.has_message_cells or _has_messages(row, roles)
        example = read_example(
            row, read, repair=cleaning.repair_encoding, strip_reasoning=strip_reasoning
        )
        if isinstance(example, Example):
            scan.has_reasoning |= any(CLOSING in text for _, text in example.turns)
            if example.damage:
                scan.damage.update(example.damage)
            counted = held.conflicting, held.contradicting
            known = held.is_known(example)
            scan.duplicates += known
            for reason in _list_reasons(example, held, known=known, counted=counted):
                scan.mark(reason)
            if not (known and cleaning.drop_duplicates):
                _keep(scan, example, pick if sample else None)
                if any(role == "tool" for role, _ in example.turns):
                    scan.unmatched += has_unmatched_result(row, column=roles.messages)
            continue
        if example == "no_turn" and row is not None:
            example = find_clip_part(row) or example
            if example == "no_turn" and not scan.strange_turn[0]:
                scan.strange_turn = find_strange_turn(row)
        scan.mark(example)
        if example == "blank":
            scan.blank += 1
        else:
            scan.faults[example] += 1
            if example == "unknown_role" and row is not None:
                scan.strange_roles.update(_find_strange_roles(row))
    scan.distinct_prompts = held.distinct() - before[0]
    scan.conflicting = held.conflicting - before[1]
    scan.contradicting = held.contradicting - before[2]
    return scan


def _has_messages(row: Row | None, roles: Roles) -> bool:
    """Return whether a prompt and its completion are not read as the texts of two cells."""
    if row is None or roles.prompt is None or roles.completion is None:
        return False
    named = {"prompt": roles.prompt, "completion": roles.completion}
    return read_answer(row, **named) != read_texts(row, **named)


def _list_reasons(
    example: Example, held: PromptCount, *, known: bool, counted: tuple[int, int]
) -> Iterator[str]:
    """Yield why a row that can be read is to be looked at; `counted` is what `held` said before."""
    yield from example.damage
    if known:
        yield "duplicate"
    if held.conflicting > counted[0]:
        yield "conflicting"
    if held.contradicting > counted[1]:
        yield "contradicting"


def _find_strange_roles(row: Row) -> set[str]:
    """Return the names of unknown roles in the lists of messages of a row."""
    lists = [messages for cell in row.values() if isinstance(messages := load_messages(cell), list)]
    said = (m.get("role", m.get("from")) for some in lists for m in some if isinstance(m, dict))
    return {name for name in said if isinstance(name, str) and find_role(name) is None}


def _keep(scan: Scan, example: Example, pick: random.Random | None) -> None:
    """Count an example that cleaning leaves, and keep it or let it take another's place."""
    scan.kept += 1
    if len(example.turns) > 2:  # noqa: PLR2004 - a question and its answer
        roles = [role for role, _ in example.turns]
        scan.multi_turn = scan.multi_turn or any(
            role in ("assistant", "calls") for role, _ in example.prompt
        )
        scan.has_system = scan.has_system or "system" in roles[:3]
    scan.calls = scan.calls or any(role in ("tools", "calls") for role, _ in example.turns)
    scan.verdicts[example.verdict] += 1
    scan.labels.add(example.answer)
    if pick is None or len(scan.examples) < SAMPLE_ROWS:
        scan.examples.append(example)
        scan.numbers.append(scan.rows)
        return
    scan.sampled = True
    place = pick.randrange(scan.kept)
    if place < SAMPLE_ROWS:
        scan.examples[place] = example
        scan.numbers[place] = scan.rows
