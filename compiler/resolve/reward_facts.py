"""Facts about the rewards of a spec: its functions, and what they give for the data's answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ftc.compiler.resolve.tool_facts import ToolFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardFunction:
    """A reward function in a user's file, and the arguments that it needs.

    `takes_others` says whether it has a `**kwargs`, `by_name` that all can be given by their names.
    """

    name: str
    needs: tuple[str, ...]
    takes_others: bool
    by_name: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardFault:
    """Why a reward cannot be computed: `place` is its number in the spec's list, from 0.

    `key` and `values` are those of a sentence of `spec/messages`.
    """

    place: int
    key: str
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardFacts:
    """What the rewards give for the data's own answers; `rows` of them were tried.

    `numbered_rows` hold a number; `matched_rows` has an entry for each regular expression, in the
    order of the spec; `valid_rows` are JSON of the schema, None without one. `always_matched` and
    `empty_matched` say, in the same order, whether one matches any text, and the empty one.
    `tools` may be called in the answers; None without a file of them.
    """

    rows: int
    numbered_rows: int
    matched_rows: tuple[int, ...] = ()
    always_matched: tuple[bool, ...] = ()
    empty_matched: tuple[bool, ...] = ()
    valid_rows: int | None = None
    functions: tuple[RewardFunction, ...] = ()
    faults: tuple[RewardFault, ...] = ()
    tools: ToolFacts | None = None
