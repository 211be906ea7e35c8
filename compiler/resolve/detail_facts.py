"""Details of facts: weights, tools, rewards, files to compare on, templates."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ftc.compiler.knowledge.multimodal.towers import Tower

#: What a chat template may leave out: a turn that others follow, the last question, a system
#: message's tools, calls, results, and what a generation prompt would open an answer with.
Unwritten = Literal["question", "earlier_turn", "tools", "calls", "results", "opening", "plain"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfit:
    """A size in config.json that the weights contradict.

    `setting` of config.json gives `said`, and `tensor` has `held`. It is empty if the size follows
    from several keys.
    """

    setting: str
    tensor: str
    said: int
    held: int


#: The output of a model that was trained to compare texts: vectors, or relevance scores.
Purpose = Literal["vectors", "relevance"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextModules:
    """The modules that `modules.json` lists after an embedding model.

    `poolings` are the ways in which its tokens become one vector; with several, the vectors are put
    side by side. `others` are the modules besides the model, its pooling and what has no weights.
    """

    poolings: tuple[str, ...]
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsentTensor:
    """A tensor that the class needs and the weights lack.

    `held` is a tensor of theirs where the layers have other names, and empty where only the output
    head is absent.
    """

    tensor: str
    held: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFault:
    """Why a file of tools, or one of its functions, cannot be used: see RewardFault."""

    key: str
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFacts:
    """The functions that the model may call, in the order of their file, and their JSON schemas."""

    names: tuple[str, ...] = ()
    schemas: tuple[str, ...] = ()
    faults: tuple[ToolFault, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionFault:
    """Why a file of a regression check cannot be used: see RewardFault."""

    key: str
    values: Mapping[str, str | int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionFile:
    """A file of a regression check; `path` is relative to the spec, in POSIX form.

    `items` counts the questions of prompts and the characters of a text; it is 0 for a task.
    """

    path: str
    sha256: str = ""
    items: int = 0
    fault: RegressionFault | None = None


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

    `numbered_rows` hold a number, `explained_rows` text before a result; `matched_rows` has an
    entry for each regular expression, in the order of the spec; `valid_rows` are JSON of the
    schema, None without one. `always_matched` and `empty_matched` say, in the same order, whether
    one matches any text, and the empty one. `tools` may be called in the answers; None without a
    file of them.
    """

    rows: int
    numbered_rows: int
    explained_rows: int = 0
    matched_rows: tuple[int, ...] = ()
    always_matched: tuple[bool, ...] = ()
    empty_matched: tuple[bool, ...] = ()
    valid_rows: int | None = None
    functions: tuple[RewardFunction, ...] = ()
    faults: tuple[RewardFault, ...] = ()
    tools: ToolFacts | None = None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class VisionFacts:
    """The part of an image-text model that sees: its tower, its projector and its processor.

    `rule` has the settings of a rule of `runtime/vision/image_tokens.py`, empty where `missing`
    names the file that would say them. `token_id` is that of the image token.
    """

    tower: Tower
    token_id: int | None
    rule: Mapping[str, Any] = field(default_factory=dict)
    missing: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSizes:
    """What rows need if no image has more than `max_pixels`.

    `tokens_max` is that of one image, `row_tokens_max` of a row. Patches are those that the tower
    sees; tiles and crops are pictures of their own.
    """

    max_pixels: int
    tokens_mean: float
    tokens_max: int
    row_tokens_max: int
    row_patches_mean: float
    row_patches_max: int
    row_pictures_max: int
    picture_patches_max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """The images of the data: in how many rows, and how large they are.

    `urls` counts images that must be downloaded, whose size is taken to be the largest, and
    `stored` those whose bytes are in the data file. `sizes` has one entry for each limit that the
    plan may choose, the largest first; it is empty where no rule is known.
    """

    rows: int
    images: int
    most_per_row: int
    pixels_p50: int
    pixels_p95: int
    pixels_max: int
    urls: int = 0
    stored: int = 0
    sizes: tuple[ImageSizes, ...] = ()
