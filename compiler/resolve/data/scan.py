"""One pass over the rows: counts, labels, and the examples whose lengths are measured."""

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from ftc.compiler.resolve.data.labels import LabelCount
from ftc.compiler.resolve.data.prompts import PromptCount
from ftc.compiler.resolve.data.tool_use import has_unmatched_result
from ftc.compiler.resolve.facts import OpenAnswers
from ftc.compiler.resolve.rows.example import Example, read_example
from ftc.compiler.resolve.rows.reader import Row
from ftc.compiler.resolve.rows.roles import Roles, make_reader
from ftc.runtime.chat_rows import find_role, load_messages
from ftc.spec.sections import Cleaning

#: Examples kept of a large file, drawn with a fixed seed.
SAMPLE_ROWS: Final = 20_000


@dataclass(slots=True, kw_only=True)
class Scan:
    """What the rows add up to; `kept` counts what cleaning leaves, `examples` a sample of it.

    `prompts` may hold those of earlier sources as well; `distinct_prompts` and `conflicting` count
    this one's own. `numbers` are those of the examples' rows, counted from 1; `faults` counts
    malformed rows and `damage` damaged ones, by kind; `unmatched` have results of unknown calls.
    `refusal` is what the chat template says where it refuses all rows; `strange_roles` are the
    names of unknown ones.
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
    contradicting: int = 0
    unmatched: int = 0

    @property
    def malformed(self) -> int:
        """How many rows are no examples, blank ones apart."""
        return self.faults.total()


def scan_rows(
    rows: Iterable[Row | None],
    roles: Roles,
    cleaning: Cleaning,
    *,
    sample: bool,
    prompts: PromptCount | None = None,
    strip_reasoning: bool = False,
) -> Scan:
    """Read every row once; `sample` bounds the examples kept, by a reservoir (algorithm R).

    `prompts` are those of the sources before, whose rows a copy may be of. With `strip_reasoning`
    answers lose the reasoning before them.
    """
    scan, pick = Scan(prompts=prompts or PromptCount()), random.Random(0)  # noqa: S311 - a sample, no secret
    if roles.form in ("chat", "text", "preference", "feedback"):
        scan.labels.open_by = OpenAnswers(reason="form", number=0, most=0)
    read = make_reader(roles)
    held = scan.prompts
    before = (held.distinct(), held.conflicting, held.contradicting)
    for row in rows:
        scan.rows += 1
        example = read_example(
            row, read, repair=cleaning.repair_encoding, strip_reasoning=strip_reasoning
        )
        if isinstance(example, Example):
            if example.damage:
                scan.damage.update(example.damage)
            known = scan.prompts.is_known(example)
            scan.duplicates += known
            if not (known and cleaning.drop_duplicates):
                _keep(scan, example, pick if sample else None)
                if any(role == "tool" for role, _ in example.turns):
                    scan.unmatched += has_unmatched_result(row, column=roles.messages)
        elif example == "blank":
            scan.blank += 1
        else:
            scan.faults[example] += 1
            if example == "unknown_role" and row is not None:
                scan.strange_roles.update(_find_strange_roles(row))
    scan.distinct_prompts = held.distinct() - before[0]
    scan.conflicting = held.conflicting - before[1]
    scan.contradicting = held.contradicting - before[2]
    return scan


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
        scan.has_system = scan.has_system or "system" in roles[:2]
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
