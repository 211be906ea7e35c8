"""The facts a plan rests on: each is known, or unknown with the finding that says why.

All of them are frozen and hold plain values, so that the lock stores them as JSON and reads them
back unchanged. Nothing in them is an absolute path or a time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ftc.compiler.knowledge.architecture import Shape
from ftc.spec.finding import Finding
from ftc.spec.sections import FileFormat, Form


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A fact that could not be had, and why."""

    finding: Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What the model's config and index files say; weights are never read.

    `origin` is where the facts came from; `revision` the commit on the Hub (None for a folder);
    `path` the folder relative to the spec, in POSIX form (None on the Hub);
    `config_sha256` of the bytes of config.json (of the table's entry when from the table).
    `unwritten_keys` are those that the GGUF converter wants and config.json does not have.
    `pickled` says whether all weights are pickles; None where no list of files was at hand.
    """

    id: str
    origin: Literal["folder", "cache", "hub", "table", "bundle"]
    path: str | None
    revision: str | None
    config_sha256: str
    architecture: str
    model_type: str
    parameters: int
    shape: Shape | None
    context_tokens: int
    embedding_rows: int
    dtype: Literal["float32", "float16", "bfloat16"]
    weights_bytes: int | None
    quantized: str | None
    custom_code: bool
    licence: str | None
    gated: bool
    unwritten_keys: tuple[str, ...]
    pickled: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OllamaFacts:
    """How Ollama writes what the chat template renders, or the `obstacle` in the way.

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
class ConversionFacts:
    """What llama.cpp's converter will find in the tokenizer's files.

    `byte_fallback`: `tokenizer.json` is a BPE that the converter reads in place of a missing
    `tokenizer.model`. `pre_tokenizer_sha256` is the converter's hash. `highest_id` is the highest
    of all tokens, `marker_id` that of the added tokens that rows will surely hold. `pieces` counts
    those of `tokenizer.model`, None without one that can be read; `unlisted` are the markers that
    neither it nor the small files beside it have.
    """

    tokenizer_class: str | None
    byte_fallback: bool
    pre_tokenizer_sha256: str
    highest_id: int
    highest_token: str
    marker_id: int | None
    marker: str | None
    pieces: int | None
    unlisted: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerFacts:
    """What the tokenizer's files say.

    `exact` is false where no tokenizer file could be read and `chars_per_token` stands in for it.
    `vocabulary_tokens` counts added tokens. `template_sha256` is None without a chat template.
    `closes_answer`: rendering an assistant turn ends in the eos token (white space apart).
    `accepts_system`: the template renders a system message without an error, and keeps its text.
    `prefix_stable`: rendering a conversation is the start of rendering a longer one, so that
    prompt and answer can be told apart by length.
    `gguf_bytes` is what tokens, merges, scores and template take up in a GGUF; None where unread.
    `ollama` is None without a chat template, or with one that was not read. `conversion` is None
    where `exact` is false. `split_markers` are control markers that the template writes and the
    tokenizer cuts into pieces. `two_templates`: the model's folder has a `chat_template.jinja` and
    another template in tokenizer_config.json, which transformers does not read then.
    """

    exact: bool
    sha256: str | None
    family: str
    chars_per_token: float
    vocabulary_tokens: int
    bos: str | None
    eos: str | None
    pad: str | None
    unk: str | None
    template_sha256: str | None
    template_from_spec: bool
    closes_answer: bool | None
    accepts_system: bool | None
    prefix_stable: bool | None
    has_sentencepiece_model: bool
    conversion: ConversionFacts | None
    gguf_bytes: int | None = None
    ollama: OllamaFacts | None = None
    split_markers: tuple[str, ...] = ()
    two_templates: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """Tokens per row, template included; `estimate` when counted by characters.

    `histogram` holds (upper edge in tokens, rows of at most that many and more than the edge
    before), edges rising, so that the share cut by any edge can be read off; `prompt_histogram`
    likewise for the prompts alone. An answer is what a row has beyond its prompt.
    """

    estimate: bool
    mean: float
    p50: int
    p90: int
    p95: int
    p99: int
    max: int
    prompt_p50: int
    prompt_p95: int
    prompt_max: int
    answer_p50: int
    answer_p95: int
    answer_max: int
    histogram: tuple[tuple[int, int], ...]
    prompt_histogram: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """One value of a closed set of answers, and how many rows have it."""

    name: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Twins:
    """Near copies: rows that share nine tenths of their words, those of most rows apart.

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
class Preferences:
    """Answers that are compared, in tokens (estimated where `Lengths.estimate` says so).

    `longer_share` is the share of pairs whose chosen answer is longer, equals left out.
    """

    chosen_p50: int
    chosen_p95: int
    rejected_p50: int
    rejected_p95: int
    longer_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """How many of the answers that cleaning leaves were found good, and bad."""

    desirable_rows: int
    undesirable_rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardFunction:
    """A function that a user's file defines, and what a call must give it.

    `takes_others` says whether it has a `**kwargs`, `by_name` that all can be given by their names.
    """

    name: str
    needs: tuple[str, ...]
    takes_others: bool
    by_name: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardFault:
    """Why a reward cannot be given: `place` is its number in the spec's list, from 0."""

    place: int
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardFacts:
    """What rewards would give the data's own answers, of which `rows` were looked at.

    `numbered_rows` hold a number; `matched_rows` has an entry for each regular expression, in the
    order of the spec; `valid_rows` are JSON of the schema, None without one.
    """

    rows: int
    numbered_rows: int
    matched_rows: tuple[int, ...] = ()
    valid_rows: int | None = None
    functions: tuple[RewardFunction, ...] = ()
    faults: tuple[RewardFault, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFacts:
    """What the data file says.

    `rows` counts all rows, `usable_rows` what cleaning and `data.max_rows` will leave. `path`
    is relative to the spec, in POSIX form, for a file; None for a Hub data set.
    `labels` is empty unless the answers form a closed set (at most 200 distinct values, at least
    5 rows each on average, none longer than 80 characters).
    `sampled_rows` is the number of rows whose lengths were measured (equal to `rows` unless the
    file is very large). A text file is read with `encoding` and errors replaced; `delimiter` is a
    csv file's, None otherwise; `files` are the names in a Hub data set that were read.

    `faults` says why rows are malformed. `lost_rows` hold U+FFFD, `control_rows` a control
    character. `prompts` counts the distinct prompts, `largest_prompt_rows` the rows of the most
    frequent one, `conflicting_rows` those whose prompt came before with another answer.
    `languages` maps codes to their share of the sampled rows whose language shows, most first.

    Of a data set that is streamed only the first rows of a few files were looked at, and all counts
    are theirs; `streamed_rows` is then about how many rows there are, None where all were read.
    `usable_rows` is what `prepare.py` will take of them, up to its limit.

    `sources` holds the facts of each source of a mixture, in the order of the spec; it is empty for
    the facts of one. What is said of the whole then adds them up, `lengths` by the rows that each
    has in an epoch, and a role's column is called as the role is.
    """

    source: str
    origin: Literal["file", "hub"]
    path: str | None
    revision: str | None
    sha256: str
    size_bytes: int
    format: FileFormat
    encoding: str
    columns: tuple[str, ...]
    form: Form
    messages: str | None
    prompt: str | None
    completion: str | None
    instruction: str | None
    input: str | None
    output: str | None
    text: str | None
    rows: int
    sampled_rows: int
    usable_rows: int
    blank_rows: int
    duplicate_rows: int
    misencoded_rows: int
    malformed_rows: int
    faults: Mapping[str, int]
    lost_rows: int
    control_rows: int
    prompts: int
    largest_prompt_rows: int
    conflicting_rows: int
    multi_turn: bool
    has_system: bool
    lengths: Lengths
    languages: Mapping[str, float]
    twins: Twins
    labels: tuple[Label, ...]
    delimiter: str | None = None
    files: tuple[str, ...] = ()
    tools: str | None = None
    calls: bool = False
    chosen: str | None = None
    rejected: str | None = None
    preferences: Preferences | None = None
    label: str | None = None
    feedback: Feedback | None = None
    rewards: RewardFacts | None = None
    streamed_rows: int | None = None
    sources: "tuple[DataFacts, ...]" = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareFacts:
    """The machine that the bundle is for, or each of `nodes` like it.

    `count` is of one node, `network_gbit` what it sends to the others, None where nobody said.
    `memory_bytes` is what the driver reports per GPU, 0 on a CPU; `link` how GPUs talk.
    `also_matches` are other accelerators that the spec's words could have meant; `present` counts
    the GPUs of this machine where they were looked at, None otherwise.
    """

    name: str
    kind: Literal["gpu", "cpu"]
    origin: Literal["spec", "machine"]
    count: int
    memory_bytes: int
    compute_capability: float | None
    bf16: bool
    flash_attention_2: bool
    bf16_tflops: float | None
    bandwidth_gb_s: float | None
    link: Literal["nvlink", "pcie", "none"]
    host_ram_bytes: int | None
    disk_free_bytes: int | None
    cores: int | None
    also_matches: tuple[str, ...]
    present: int | None = None
    nodes: int = 1
    network_gbit: float | None = None

    @property
    def world(self) -> int:
        """The processes of all nodes."""
        return max(1, self.count) * self.nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything known of one spec; what is noteworthy in known facts is a rule's to say."""

    model: ModelFacts | Unknown
    tokenizer: TokenizerFacts | Unknown
    data: DataFacts | Unknown
    hardware: HardwareFacts | Unknown
