"""Unwanted content in the texts of rows: a part of the facts about the data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Markers:
    """Rows that hold what a chat template writes: markers of turns, or special tokens.

    `foreign_rows` hold markers of turns that this tokenizer does not keep whole, 0 where it is not
    at hand. `opened_rows` have a prompt that ends with words such as `Assistant:`. `spoken_rows`
    have a whole exchange in one text, whose lines begin with `speakers`: `Human:` and `Bot:`.
    """

    turn_rows: int = 0
    turn_markers: tuple[str, ...] = ()
    special_rows: int = 0
    special_tokens: tuple[str, ...] = ()
    foreign_rows: int = 0
    opened_rows: int = 0
    opening: str = ""
    spoken_rows: int = 0
    speakers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """The number of rows that call tools, and of rows whose calls do not match the declarations.

    `described_rows` declare tools that their messages name as well. `unoffered_rows` call tools
    and declare none, `undeclared_rows` call one that is not among those declared; `incomplete_rows`
    have a call without a required argument. Of these names the commonest are kept.
    """

    call_rows: int
    result_rows: int
    declaring_rows: int
    described_rows: int
    unoffered_rows: int
    undeclared_rows: int
    undeclared: tuple[str, ...]
    incomplete_rows: int
    incomplete: tuple[str, ...]
    unmatched_rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """The number of prompts that contain their answer, at the `end` or after the words `before`."""

    kind: Literal["label", "answer", "end"]
    rows: int
    looked_rows: int
    before: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CutAnswers:
    """The number of answers that end in the middle of a sentence, and their length."""

    rows: int
    characters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OllamaRows:
    """The number of compared rows for which Ollama's prompt differs from the prompt in training.

    `first` is the number of the first such row, counted from 1 in the file that has it.
    """

    compared: int
    other: int
    first: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairScores:
    """The number of compared pairs whose rejected answer has a higher score.

    `chosen` and `rejected` are the columns of the scores, or `chosen` is one that names the better
    answer and `rejected` is None. `first` is the number of the first such row, counted from 1.
    """

    chosen: str
    rejected: str | None
    compared: int
    contradicted: int
    first: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """Unwanted content in the texts of rows; the numbers refer to `looked_rows` rows.

    `missing_answers` and `missing_prompts` count texts such as `nan`. `echo_rows` have the question
    as their answer, and the answers of `begun_rows` begin with it. `contradicting_rows` repeat a
    prompt and its answers with the opposite preference. `secrets` and `personal` count rows by
    kind. `numbered_rows` have an answer that ends with its number, `refused_rows` one that begins
    by declining; prompts and answers that end with a question mark are `asking_prompts` and
    `asking_answers`. `reasoned_rows` have reasoning before an answer. `unseen_images` are columns
    without a role, each with its rows that hold an image; these are of all rows, as those of
    `unseen_videos` and `unseen_audio` are. `needed_columns`
    are those without a role that answers rest on, and `bad_rows` counts by column the rows that
    one of verdicts calls bad; both are of the first rows. `system_columns` have system messages,
    each with the one that all rows have, "" for several. `split_columns` mark the splits of rows,
    each with its rows that are not for training, of the first rows. `foreign` counts the rows with
    `markup`, with files as `base64`, and with a `video` or `audio` that a prompt names.
    `weighed_rows` have an answer with a weight other than 0 and 1, and `neutral_rows` a label 0
    where others have -1; `pair_scores` is None unless scores contradict pairs. `rival_columns` are
    called as one that has a role is, each with that one; `explaining_columns` explain answers,
    answers are chosen from `option_columns`, and `label_names` has the names of numbers. `ollama`
    is None where Ollama gets no template to compare. `speaker_columns` say who wrote the only text
    of a row. `listed_answers` are written as lists of Python, as `listed_example` is.
    `strange_roles` are the commonest of the names of roles that are unknown.

    `review` has the numbers of a few rows to look at, counted from 1, by reason: a fault or damage
    of the row, a kind of what it holds, or its length. Of a mixture each source has its own.
    """

    looked_rows: int = 0
    markers: Markers = Markers()
    missing_answers: Mapping[str, int] = field(default_factory=dict)
    missing_prompts: Mapping[str, int] = field(default_factory=dict)
    tool_use: ToolUse | None = None
    leak: Leak | None = None
    echo_rows: int = 0
    begun_rows: int = 0
    contradicting_rows: int = 0
    secrets: Mapping[str, int] = field(default_factory=dict)
    personal: Mapping[str, int] = field(default_factory=dict)
    personal_looked_rows: int = 0
    numbered_rows: int = 0
    refused_rows: int = 0
    cut: CutAnswers | None = None
    asking_prompts: int = 0
    asking_answers: int = 0
    reasoned_rows: int = 0
    unseen_images: Mapping[str, int] = field(default_factory=dict)
    unseen_videos: Mapping[str, int] = field(default_factory=dict)
    unseen_audio: Mapping[str, int] = field(default_factory=dict)
    needed_columns: Mapping[str, int] = field(default_factory=dict)
    system_columns: Mapping[str, str] = field(default_factory=dict)
    rival_columns: Mapping[str, str] = field(default_factory=dict)
    speaker_columns: tuple[str, ...] = ()
    explaining_columns: tuple[str, ...] = ()
    option_columns: tuple[str, ...] = ()
    label_names: str = ""
    listed_answers: int = 0
    listed_example: str = ""
    bad_rows: Mapping[str, int] = field(default_factory=dict)
    split_columns: Mapping[str, int] = field(default_factory=dict)
    foreign: Mapping[str, int] = field(default_factory=dict)
    weighed_rows: int = 0
    neutral_rows: int = 0
    pair_scores: PairScores | None = None
    ollama: OllamaRows | None = None
    review: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    strange_roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NearDuplicates:
    """Near copies: rows that share nine tenths of their words, common words excluded.

    `probes` rows were drawn with a fixed seed and each was compared with `compared` rows; rows of
    fewer than five such words are not drawn. `counts` holds (near copies, probes with so many),
    rising. `largest` is the most that one probe has, `row` its number in the data, counted from 1.
    """

    probes: int
    compared: int
    counts: tuple[tuple[int, int], ...]
    largest: int
    row: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAnswers:
    """Why answers are not a closed set of labels: the `number` found and the maximum, `most`.

    `values` compares distinct values, `length` the characters of the first value that is too long,
    `rows` has all rows as `number` and the values that share them as `most`; `form` says that the
    rows have no column of answers, and both are 0.
    """

    reason: Literal["form", "values", "length", "rows"]
    number: int
    most: int
