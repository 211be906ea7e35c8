"""The facts that a plan depends on: each is known, or unknown with the finding that says why.

All of them are frozen and have plain values, so that the lock can store them as JSON and read them
back unchanged. They contain no absolute path and no time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ftc.compiler.knowledge.architectures.architecture import (
    Shape,
    converted_class,
    keeps_packed_rows_apart,
)
from ftc.compiler.knowledge.exports.unlike_settings import Unlike
from ftc.compiler.resolve.content_facts import Contents, NearDuplicates, OpenAnswers
from ftc.compiler.resolve.detail_facts import (
    AbsentTensor,
    Misfit,
    OllamaFacts,
    Pictures,
    Purpose,
    ReasoningFacts,
    RegressionFile,
    RewardFacts,
    TextModules,
    Unwritten,
    VisionFacts,
)
from ftc.runtime.tokenizer.round_trip import RoundTrip
from ftc.spec.findings.finding import Finding
from ftc.spec.sections import FileFormat, Form


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """An unknown fact and the reason; `others` are further causes."""

    finding: Finding
    others: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What the model's config and index files say; weights are never read.

    `origin` is where the facts come from: `hub` for files of the Hub, whether they were downloaded
    now or before, and `table` for the built-in table; `revision` the commit on the Hub (None for a
    folder); `path` the folder relative to the spec, in POSIX form (None on the Hub);
    `config_sha256` of the bytes of config.json (of the table's entry when from the table).
    `unwritten_keys` are those that the GGUF converter wants and config.json does not have.
    `pickled` says whether all weights are pickles; None where no list of files was at hand.
    `licence` and `gated` are None where neither the folder, the Hub nor the table says them.
    `modules` are those that have weights, where no `shape` lists them, with `*` for the number of
    a layer; None where neither headers nor an index name them. `missing_weights` are the files of
    its index that a folder lacks, empty where it has none of them; `unread_weights` are its files
    where transformers looks for other names. `own_code` are the Python files that are run if
    code is trusted, also where transformers has the class. `misfit` is the first size of a
    folder's weights that does not fit its config.json, `absent` the first tensor of the class that
    they lack, and `lacking_parameters` how many parameters fewer than the class they have.
    `wrapper` is the multimodal class that it names; other fields then describe the language model,
    at `text_prefix` of what is loaded. `vision` is the tower of an image-text model, None for any
    other. `tensor_shape`, from names and sides of tensors, replaces `shape` if no table has it.
    `is_lifted`: config.json has the keys without which rehearsals of the class stop. `unlike` is
    its first setting with which a miniature of the class stops on the way to GGUF.
    `has_other_head`: it ties the output head, and the weights have another one. `reads_both_ways`:
    each token of this causal class sees later ones. `purpose`: what a text-comparing model gives.
    """

    id: str
    origin: Literal["folder", "hub", "table", "bundle"]
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
    gated: bool | None
    unwritten_keys: tuple[str, ...]
    pickled: bool | None = None
    modules: tuple[str, ...] | None = None
    missing_weights: tuple[str, ...] = ()
    unread_weights: tuple[str, ...] = ()
    own_code: tuple[str, ...] = ()
    tokenizer_code: bool = False
    misfit: Misfit | None = None
    absent: AbsentTensor | None = None
    lacking_parameters: int = 0
    wrapper: str | None = None
    text_prefix: str = ""
    tensor_shape: Shape | None = None
    vision: VisionFacts | None = None
    text_modules: TextModules | None = None
    is_lifted: bool = False
    unlike: Unlike | None = None
    has_other_head: bool = False
    reads_both_ways: bool = False
    purpose: Purpose | None = None

    @property
    def converted(self) -> str:
        """The class that llama.cpp's converter reads the model as."""
        return converted_class(self.architecture, self.wrapper)

    @property
    def older_name(self) -> str | None:
        """The name under which the converter registers the class, if it is an older spelling."""
        is_own = self.wrapper is not None or self.converted == self.architecture
        return None if is_own else self.converted

    @property
    def known_shape(self) -> Shape | None:
        """The shape that the table gives, or else the names and sides of the tensors."""
        return self.shape or self.tensor_shape

    @property
    def fused_experts(self) -> Shape | None:
        """The shape, where a layer has its experts in tensors that are no modules.

        That is so in all of transformers' classes. A repository's own code has a module for each.
        """
        shape = self.known_shape
        is_own = self.shape is None and self.custom_code
        return shape if shape is not None and shape.experts and not is_own else None

    @property
    def keeps_rows_apart(self) -> bool | None:
        """Whether packed rows do not see each other; None where nothing says it."""
        if self.tensor_shape is not None and self.tensor_shape.recurrent_layers():
            return False
        return keeps_packed_rows_apart(self.architecture, self.wrapper)


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherToken:
    """A token id for which the teacher has another token than the student."""

    id: int
    student: str
    teacher: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TeacherFacts:
    """The teacher of a distillation; `model` says what a model's facts say.

    `vocabulary` is `same` where every token id that both tokenizers have means one token, `unread`
    where the files of one could not be compared. `highest_id` is that of the student's tokens, None
    where unread; `differing` counts the ids with other tokens, `first` is the lowest of them.
    `is_student`: the spec names the same model twice. `reasoning` is what its own chat template
    does, None where that was not read.
    """

    model: ModelFacts
    vocabulary: Literal["same", "other", "unread"] = "unread"
    highest_id: int | None = None
    differing: int = 0
    first: OtherToken | None = None
    is_student: bool = False
    reasoning: ReasoningFacts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionFacts:
    """What llama.cpp's converter will find in the tokenizer's files.

    `byte_fallback`: `tokenizer.json` is a BPE that the converter reads in place of a missing
    `tokenizer.model`. `pre_tokenizer_sha256` is the converter's hash. `highest_id` is the highest
    of all tokens, `marker_id` that of the added tokens that rows will surely hold. `pieces` counts
    those of `tokenizer.model`, None without one that can be read; `unlisted` are the markers that
    neither it nor the small files beside it have. `respaced` is the marker after which llama.cpp
    reads a space that transformers does not. `unwritten_bos`: llama.cpp would begin every text with
    a bos token that transformers does not write.
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
    respaced: str | None = None
    unwritten_bos: bool = False


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
    `loaded_class` is the class that transformers loads for `tokenizer.json`. Of the spec's new
    tokens `existing_tokens` are in the vocabulary already, and `template_tokens` in the template.
    `unwritten` names what the template leaves out of a conversation: see `probe_template`.
    `reasoning` is None without a chat template, or with one that was not read.
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
    loaded_class: str | None = None
    existing_tokens: tuple[str, ...] = ()
    template_tokens: tuple[str, ...] = ()
    unwritten: tuple[Unwritten, ...] = ()
    reasoning: ReasoningFacts | None = None


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
class Preferences:
    """The lengths of compared answers in tokens (estimates where `Lengths.estimate` is true).

    `longer_share` is the share of pairs whose chosen answer is longer, equals left out.
    """

    chosen_p50: int
    chosen_p95: int
    rejected_p50: int
    rejected_p95: int
    longer_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """How many of the answers, after cleaning, are rated good and bad."""

    desirable_rows: int
    undesirable_rows: int


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

    `open_answers` says why a classification has no labels; it is None for every other objective.
    `absent_tokens` are those of the spec's new tokens that no row holds; none where not every row
    was read.

    `faults` says why rows are malformed. `lost_rows` hold U+FFFD, `control_rows` a control
    character. `prompts` counts the distinct prompts, `largest_prompt_rows` the rows of the most
    frequent one, `conflicting_rows` those whose prompt came before with another answer.
    `documents` counts the distinct texts that embedding models and rerankers find, in sampled rows.
    `languages` maps codes to their share of the sampled rows whose language shows, most first.
    `round_trip` says what some of the rows lose when the tokenizer encodes and decodes them, as
    transformers loads it; its second tokenizer is `tokenizer.json` as saved. None: not tried.

    Of a data set that is streamed only the first rows of a few files were looked at, and all counts
    are theirs; `streamed_rows` is then about how many rows there are, None where all were read.
    `usable_rows` is what `prepare.py` will take of them, up to its limit.

    `has_message_cells`: a prompt or a completion may be a list of messages, in place of a text.
    `has_reasoning`: a text may have the tag that ends reasoning, once it is stripped if it is.

    `images` is the column of images, if they have one; `pictures` is None for rows without images.
    `limited_lengths` are the lengths under each limit of `pictures.sizes`; `lengths` are the first.

    `sources` holds the facts of each source of a mixture, in the order of the spec; it is empty for
    the facts of one. What is said of the whole then adds them up, `lengths` by the rows that each
    has in an epoch, and a role's column is called as the role is.

    `left_lists` are lists of objects in a json file that are not its rows, each with its length.
    `repeated_keys` are keys that objects have more than once, each with the number of objects.
    `regression` has an entry for each regression check, in the order of the spec; it is None for
    a check without exactly one file.
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
    twins: NearDuplicates
    labels: tuple[Label, ...]
    delimiter: str | None = None
    files: tuple[str, ...] = ()
    absent_tokens: tuple[str, ...] = ()
    tools: str | None = None
    calls: bool = False
    images: str | None = None
    pictures: Pictures | None = None
    limited_lengths: tuple[Lengths, ...] = ()
    chosen: str | None = None
    rejected: str | None = None
    preferences: Preferences | None = None
    label: str | None = None
    score: str | None = None
    documents: int = 0
    feedback: Feedback | None = None
    rewards: RewardFacts | None = None
    streamed_rows: int | None = None
    has_message_cells: bool = True
    has_reasoning: bool = True
    left_lists: Mapping[str, int] = field(default_factory=dict)
    repeated_keys: Mapping[str, int] = field(default_factory=dict)
    open_answers: OpenAnswers | None = None
    round_trip: RoundTrip | None = None
    contents: Contents = field(default_factory=Contents)
    sources: "tuple[DataFacts, ...]" = ()
    regression: tuple[RegressionFile | None, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What a pilot measured over what was planned: peak memory, and seconds of a step.

    `time` is None where the plan knew no time. `sha256` is that of the pilot's file.
    """

    memory: float
    time: float | None
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareFacts:
    """The machine that the bundle is for, or each of `nodes` like it.

    `count` is that of one node, `network_gbit` its bandwidth to the others, None if unknown.
    `memory_bytes` is what the driver reports per GPU, 0 on a CPU; `link` how GPUs talk.
    `disk_free_bytes` is the value of the spec or, for a check only, the free space on this machine,
    which is not stored in the lock.
    `also_matches` are other accelerators that the spec's words could have meant; `present` counts
    the GPUs of this machine where they were looked at, None otherwise. `calibration` is what a
    pilot measured on such a machine.
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
    calibration: Calibration | None = None

    @property
    def world(self) -> int:
        """The processes of all nodes."""
        return max(1, self.count) * self.nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything known about one spec; rules report what is wrong with known facts.

    `teacher` is None where the objective has no teacher.
    """

    model: ModelFacts | Unknown
    tokenizer: TokenizerFacts | Unknown
    data: DataFacts | Unknown
    hardware: HardwareFacts | Unknown
    teacher: TeacherFacts | Unknown | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFacts:
    """The facts, none of them unknown."""

    model: ModelFacts
    tokenizer: TokenizerFacts
    data: DataFacts
    hardware: HardwareFacts
    teacher: TeacherFacts | None = None


def known(facts: Facts) -> KnownFacts | None:
    """Return the facts when all are known, None when one is not."""
    model, tokenizer, data, hardware = facts.model, facts.tokenizer, facts.data, facts.hardware
    teacher = facts.teacher
    if (
        isinstance(model, Unknown)
        or isinstance(tokenizer, Unknown)
        or isinstance(data, Unknown)
        or isinstance(hardware, Unknown)
        or isinstance(teacher, Unknown)
    ):
        return None
    return KnownFacts(
        model=model, tokenizer=tokenizer, data=data, hardware=hardware, teacher=teacher
    )
