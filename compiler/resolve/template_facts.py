"""What is known about a chat template: what it leaves out, its options, and how it reasons."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

#: What a chat template may leave out: a turn that others follow, the last question, a system
#: message's tools, calls, results, and what a generation prompt would open an answer with.
Unwritten = Literal["question", "earlier_turn", "tools", "calls", "results", "opening"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OllamaFacts:
    """How Ollama writes what the chat template renders, or the `obstacle` to that.

    `family` is a name of the table of Ollama's templates. `default_system` is the system message
    that the template brings along, `opening` what it writes for an answer to begin with, `begun`
    the text of the first token where llama.cpp does not add it.
    """

    family: str | None = None
    default_system: str = ""
    opening: str = ""
    begun: str = ""
    obstacle: Literal["unknown", "date", "bos"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningFacts:
    """How a chat template treats reasoning, under the options of the spec.

    `options` are the variables that the template reads and does not set itself. `reads_keys`: it
    writes what a message has under `reasoning_content`. `drops`: it leaves the reasoning of a last
    answer out. `empty` is the empty reasoning that it writes before an answer without any, and that
    no generation prompt writes, so that it is learned; with the options of `without_empty` it is
    not. `misfits` names the rows that a generation prompt is not the beginning of: those `with` or
    `without` reasoning. `thinks`: an answer begins with reasoning, as the generation prompt opens
    it or only an option closes it.
    """

    options: tuple[str, ...] = ()
    reads_keys: bool = False
    drops: bool = False
    empty: str = ""
    without_empty: Mapping[str, bool] = field(default_factory=dict)
    misfits: tuple[Literal["with", "without"], ...] = ()
    thinks: bool = False
