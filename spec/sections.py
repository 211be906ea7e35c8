"""The typed spec: what `validate` returns once short forms are long and defaults are filled in.

Generated from `schema.json` by `make sections`; change the schema, not this file. `"auto"` means
that the planner decides.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

Auto = Literal["auto"]
Attention = Literal["sdpa", "eager", "flash_attention_2"]
FileFormat = Literal["csv", "jsonl", "json", "parquet"]
Form = Literal[
    "chat", "prompt_completion", "instruction", "text", "preference", "feedback", "scored", "prompt"
]
Reasoning = Literal["learn", "mask", "strip"]
Packing = Literal["none", "best-fit"]
Overlong = Literal["drop", "truncate"]
LossOn = Literal["completion", "last_turn", "all"]
Match = Literal["exact", "numeric"]
Vllm = Literal["off", "colocate", "server"]
PolicyLoss = Literal["dapo", "bnpo", "grpo", "dr_grpo"]
Reference = Literal["precomputed", "adapter_off", "copy"]
Pooling = Literal["mean", "cls", "lasttoken"]
Init = Literal["default", "gaussian", "pissa", "pissa_niter_16", "olora"]
Quantization = Literal["nf4", "int8"]
QuantStorage = Literal["uint8", "bf16", "fp16", "fp32"]
Optimizer = Literal[
    "adamw",
    "adamw_8bit",
    "paged_adamw",
    "paged_adamw_8bit",
    "lion",
    "lion_8bit",
    "paged_lion",
    "paged_lion_8bit",
    "adafactor",
    "sgd",
]
Schedule = Literal[
    "cosine",
    "linear",
    "constant",
    "polynomial",
    "cosine_with_restarts",
    "inverse_sqrt",
    "warmup_stable_decay",
]
Precision = Literal["bf16", "fp16", "fp32"]
Metric = Literal["accuracy", "macro_f1", "exact_match", "numeric_match", "rouge_l", "chrf", "none"]
BestBy = Literal["loss", "metric"]
Strategy = Literal["ddp", "zero1", "zero2", "zero3", "fsdp"]
Offload = Literal["none", "optimizer", "parameters"]
ObjectiveType = Literal[
    "sft",
    "cpt",
    "dpo",
    "kto",
    "orpo",
    "cpo",
    "simpo",
    "classification",
    "reward",
    "grpo",
    "rloo",
    "distill",
    "gkd",
    "embed",
    "rerank",
]
TeacherQuantization = Literal["none", "nf4"]
PreferenceLoss = Literal[
    "sigmoid", "ipo", "hinge", "robust", "exo_pair", "apo_zero", "apo_down", "sigmoid_norm"
]
MethodType = Literal["full", "freeze", "lora", "qlora"]
Part = Literal["embeddings", "head"]
ModelPart = Literal["language_model", "projector", "vision_tower"]
RegressionMetric = Literal["exact_match", "numeric_match"]
GgufType = Literal[
    "F16",
    "BF16",
    "Q8_0",
    "Q6_K",
    "Q5_K_M",
    "Q5_K_S",
    "Q5_1",
    "Q5_0",
    "Q4_K_M",
    "Q4_K_S",
    "Q4_1",
    "Q4_0",
    "IQ4_NL",
    "IQ4_XS",
    "Q3_K_L",
    "Q3_K_M",
    "Q3_K_S",
    "IQ3_M",
    "IQ3_S",
    "IQ3_XS",
    "IQ3_XXS",
    "Q2_K",
    "Q2_K_S",
    "IQ2_M",
    "IQ2_S",
    "IQ2_XS",
    "IQ2_XXS",
    "IQ1_M",
    "IQ1_S",
]
ServedType = Literal["FP8", "FP8_DYNAMIC", "W4A16", "NVFP4A16", "NVFP4"]
Tracker = Literal["tensorboard", "wandb", "mlflow", "trackio", "none"]
Launcher = Literal["local", "slurm", "kubernetes", "skypilot"]
Published = Literal["adapter", "merged", "gguf", "vllm"]

#: The forms of rows of each objective, in the order in which they are tried.
FORMS: Final[Mapping[ObjectiveType, tuple[Form, ...]]] = {
    "sft": ("chat", "instruction", "prompt_completion", "text"),
    "cpt": ("text",),
    "dpo": ("preference",),
    "kto": ("feedback",),
    "orpo": ("preference",),
    "cpo": ("preference",),
    "simpo": ("preference",),
    "classification": ("prompt_completion",),
    "reward": ("preference",),
    "grpo": ("chat", "instruction", "prompt_completion", "prompt"),
    "rloo": ("chat", "instruction", "prompt_completion", "prompt"),
    "distill": ("chat", "instruction", "prompt_completion", "prompt"),
    "gkd": ("chat", "instruction", "prompt_completion"),
    "embed": ("preference", "scored", "prompt_completion"),
    "rerank": ("preference", "scored", "prompt_completion"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The model to start from: an id on the Hub, a folder, or an object with all settings."""

    id: str
    """The model to start from: its id on the Hub, or a folder (relative to the spec) with
    config.json, the tokenizer and the weights.
    """
    revision: str | None = None
    """The branch, tag or commit of the model on the Hub. With null, the newest commit is used, and
    the lock file pins it. Not for a folder.
    """
    chat_template: str | None = None
    """A Jinja file (relative to the spec) that replaces the tokenizer's chat template; null keeps
    the tokenizer's own.
    """
    attention: Attention | Auto = "auto"
    """The attention implementation that transformers uses."""
    trust_remote_code: bool = False
    """Whether Python files that come with the model may run. With false, a model that needs them is
    rejected.
    """
    pickled_weights: bool = False
    """Whether weights may be read from pickle files (`pytorch_model.bin`) if the model has no
    safetensors. With false, such a model is rejected.
    """
    new_tokens: tuple[str, ...] = ()
    """Words that are added to the tokenizer as one token each. Their rows of the embeddings and of
    the output head are trained, even when an adapter is trained.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One of several sources. A key that is left out is taken from `data`."""

    source: str
    revision: str | None = None
    subset: str | None = None
    split: str | None = None
    format: FileFormat | None = None
    form: Form | None = None
    columns: dict[str, str] | None = None
    weight: float | None = None
    max_rows: int | None = None
    max_repeats: int | None = None
    streaming: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The column for each role. A role that is left out is found by its usual column names."""

    messages: str | None = None
    """The column with a list of messages, each with a role and content; null looks for a usual
    name.
    """
    prompt: str | None = None
    """The column with the prompt; null looks for a usual name."""
    completion: str | None = None
    """The column with the answer that the model should give; null looks for a usual name."""
    instruction: str | None = None
    """The column with the instruction of a row in Alpaca form; null looks for a usual name."""
    input: str | None = None
    """The column with the input that the instruction applies to; null looks for a usual name. A row
    may have no input.
    """
    output: str | None = None
    """The column with the answer to an instruction; null looks for a usual name."""
    text: str | None = None
    """The column with plain text, one document per row; null looks for a usual name."""
    tools: str | None = None
    """The column with the list of tools that a conversation may call, as JSON schemas or as JSON
    text; null looks for a usual name.
    """
    images: str | None = None
    """The column with the images of a row: a path relative to the data file, a `data:` URI, a list
    of them, or in parquet the bytes of images; null looks for a usual name.
    """
    chosen: str | None = None
    """The column with the preferred answer, a text or a list of messages; null looks for a usual
    name.
    """
    rejected: str | None = None
    """The column with the rejected answer, in the same form as the chosen one; null looks for a
    usual name.
    """
    label: str | None = None
    """The column that says whether an answer was rated good: true or false, 1 or 0, yes or no,
    thumbs up or down; null looks for a usual name.
    """
    score: str | None = None
    """The column with the score of a pair of texts, a number from 0 (unrelated) to 1 (the same
    meaning); null looks for a usual name.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Images:
    """How the images of the rows are read."""

    max_pixels: int | Auto = "auto"
    """The maximum number of pixels of an image that the model sees. Larger images are made smaller,
    keeping their proportions. auto uses the limit of the model's processor, or less where the run
    would not fit in memory.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaning:
    """What is removed or repaired before the data is split.

    Every dropped row is counted and listed.
    """

    drop_duplicates: bool = True
    """Whether to drop rows with the same content as an earlier row. Dropped rows are counted and
    listed.
    """
    repair_encoding: bool = True
    """Whether to repair text that was decoded with the wrong encoding (`cafÃ©`)."""
    overlong: Overlong = "drop"
    """What happens to a row with more than max_length tokens: `drop` removes it, `truncate` keeps
    its start.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Splits:
    """The fractions of the cleaned rows that are held out.

    The remaining rows are the training split.
    """

    test: float = 0.1
    """The fraction of rows held out of training to evaluate the final model."""
    validation: float = 0.1
    """The fraction of rows evaluated during training to choose the best checkpoint."""
    stratify: bool | Auto = "auto"
    """Whether each label has the same share of the rows in every split. auto stratifies if the
    answers are a closed set of labels.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """The training data: a file, a data set on the Hub, or an object with all settings."""

    source: str | None = None
    """A csv, jsonl, json or parquet file (relative to the spec), or the id of a data set on the
    Hub; null if `sources` is used.
    """
    sources: tuple[str | Source, ...] | None = None
    """Several files or data sets to train on together, in place of `source`. Each is a name, or an
    object with its own `revision`, `subset`, `split`, `format`, `form`, `columns` and `streaming`;
    a key that is left out is taken from `data`. `max_rows` limits the rows used from a source.
    `weight` sets the source's share of an epoch, relative to the other weights: give a weight to
    all sources or to none. Without weights, every row is used once. `max_repeats` limits how often
    one row may appear in an epoch to reach the weight (default 4).
    """
    revision: str | None = None
    """The branch, tag or commit of a data set on the Hub. With null, the newest commit is used, and
    the lock file pins it. Not for a file.
    """
    subset: str | None = None
    """The configuration of a data set on the Hub; null uses the only or the default one. Not for a
    file.
    """
    split: str = "train"
    """The split of a data set on the Hub that provides the training, validation and test rows. Not
    for a file.
    """
    format: FileFormat | Auto = "auto"
    """The format of the file; auto derives it from the file's name."""
    form: Form | Auto = "auto"
    """What a row contains: a conversation, a prompt and its completion, an instruction with input
    and output, plain text, a chosen and a rejected answer, an answer with a rating, two texts with
    a score, or a prompt alone, for objectives that sample the answers (grpo, rloo, distill). auto
    derives it from the columns, and for these objectives from the rows.
    """
    columns: Columns = Columns()
    system: str | None = None
    """A system message that is added to every conversation without one; null adds none."""
    template_options: dict[str, Any] | None = None
    """Values for variables that the chat template reads, such as `enable_thinking` or
    `reasoning_effort`. Rows are rendered with them, and the trained model's template has them as
    its defaults, so that every program asks it in the same mode. null sets none.
    """
    reasoning: Reasoning = "learn"
    """What is done with the reasoning before an answer, which rows have under `reasoning_content`
    or `thinking`, or in `<think>` tags. `learn`: it is learned like the answer. `mask`: it is read,
    and only the answer after it is learned. `strip`: it is removed.
    """
    max_length: int | Auto = "auto"
    """The maximum number of tokens in a row, chat template included. auto derives it from the
    lengths in the data and the model's context.
    """
    max_rows: int | None = None
    """The maximum number of rows to use, sampled with the seed; null uses all."""
    streaming: bool = False
    """Whether `prepare.py` streams a data set from the Hub: it reads up to `max_rows` rows over the
    network and keeps only the rows it uses, instead of downloading every file first. Local files
    are never streamed, because they are already read in parts.
    """
    images: Images = Images()
    allow_download: bool = False
    """Whether `prepare.py` may download images that rows name by their URL. Without it such rows
    are not used.
    """
    packing: Packing | Auto = "auto"
    """Whether several rows share one row of a batch. `best-fit` fills packed rows without cutting
    any, and rows do not attend to each other. `none` pads each row to the longest in its batch.
    auto packs if packing is clearly faster and the model keeps packed rows separate.
    """
    cleaning: Cleaning = Cleaning()
    splits: Splits = Splits()


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelWeight:
    """How much a row of one label counts in the loss; 1 is the weight of an unlisted label."""

    label: str
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reward:
    """One reward: exactly one of `match`, `regex`, `json_schema` and `functions`, and its weight.

    `json_schema` is a schema or a file with one; `functions` is a Python file. Both paths are
    relative to the spec. `names` lists the functions of that file to call, each with this `weight`.
    """

    match: Match | None = None
    regex: str | None = None
    json_schema: str | dict[str, Any] | None = None
    functions: str | None = None
    names: tuple[str, ...] = ()
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Teacher:
    """Teacher.

    The model whose probabilities are learned (`distill` and `gkd`): an id on the Hub, a folder, or
    an object with all settings. It must have the tokenizer of `model`.
    """

    id: str | None = None
    """The teacher's id on the Hub, or a folder (relative to the spec) with config.json, the
    tokenizer and the weights.
    """
    revision: str | None = None
    """The branch, tag or commit of the teacher on the Hub. With null, the newest commit is used,
    and the lock file pins it. Not for a folder.
    """
    quantization: TeacherQuantization = "none"
    """How the teacher is loaded: `none` in 16 bits, `nf4` in 4 bits. It is not trained, so 4 bits
    only make its probabilities a little less exact.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """What the model learns.

    `sft`: write the answers in the data. `cpt`: continue text. `dpo`: prefer one answer over
    another. `kto`: write what was rated good and avoid what was rated bad. `orpo`, `cpo`: learn
    answers and preferences at once. `simpo`: prefer answers by their mean log-probability. `grpo`,
    `rloo`: find answers that earn a reward. `distill`, `gkd`: predict as a larger model does, on
    answers of its own or on those in the data. `embed`: turn texts into vectors, so that those that
    belong together are close. `rerank`: score how well a text matches a query.
    """

    type: ObjectiveType = "sft"
    """What the model learns. `sft` is supervised fine-tuning: the model learns to write the answers
    in the data. `cpt` is continued pretraining on text, which is split into pieces of
    `data.max_length` tokens without losing any. `dpo`: prefer the chosen answer of each pair to the
    rejected one. `kto`: the same, from single answers rated good or bad. `orpo`: write the chosen
    answer and prefer it, in one run and without a reference model. `cpo`: the same, with the loss
    of `dpo` without its reference. `simpo`: prefer the chosen answer by a margin, per token and
    without a reference model. `classification`: give each text one of the labels in the data, by a
    head with one output per label. `reward`: give an answer a number that is higher for the chosen
    answer of each pair than for the rejected one. `grpo`: generate answers and learn from the ones
    that earn a reward. `rloo`: the same, with the mean reward of the other answers as the baseline.
    `distill`: generate answers and learn to give each next token the probability that a teacher
    gives it. `gkd`: the same on the answers in the data, without generating any. `embed`: turn
    texts into vectors for search, close for texts that belong together; a pair is
    `data.columns.prompt` and `completion`, with `score` if it is scored, a triplet `prompt`,
    `chosen` and `rejected`. `rerank`: read a query and a text at once and score how well they
    match, from the same data; an encoder gets one output for it.
    """
    loss_on: LossOn = "completion"
    """Which tokens are learned: those of every answer, those of the last answer of a conversation,
    or all tokens.
    """
    class_weights: Literal["balanced", "none"] | tuple[LabelWeight, ...] | Auto = "auto"
    """How much a row of each label counts in the loss (classification only). `balanced`: every
    label counts the same in total. `none`: every row counts the same. A list gives some labels a
    weight, and the others keep 1. `auto` decides by the number of rows per label.
    """
    rewards: tuple[Match | Reward, ...] | Auto = "auto"
    """How an answer of the model is rewarded (`grpo` and `rloo`). `exact`: it equals the reference,
    ignoring white space and case. `numeric`: its last number equals the reference's last number.
    Otherwise a regular expression that must be found in the answer, a JSON Schema that the answer
    must satisfy, or functions of a Python file, which is copied into the bundle and run there. Each
    may have a weight. auto decides by the answers in the data.
    """
    teacher: Teacher = Teacher()
    num_generations: int | Auto = "auto"
    """The number of answers that the model generates for each prompt. The reward of each answer is
    compared with their mean, in `rloo` with the mean of the others. The global batch counts answers
    and must be a multiple of this number (`grpo` and `rloo`).
    """
    temperature: float = 1.0
    """The sampling temperature of the generated answers; 1 samples from the model's own
    probabilities (`grpo`, `rloo` and `distill`). In `distill` the divergence is that of the
    probabilities at this temperature too.
    """
    answer_tokens: int | Auto = "auto"
    """The maximum number of tokens in a generated answer. Longer answers are cut off (`grpo`,
    `rloo` and `distill`).
    """
    tools: str | None = None
    """A Python file, relative to the spec, whose public functions the model may call in its answers
    (`grpo` only). Each function needs type hints and a docstring with a section `Args:` that
    describes every argument. The file is copied into the bundle and run there, with the rights of
    the user who trains. Every prompt declares the functions, calls are executed, and the model
    reads the result and continues its answer. Results count as tokens of the answer and are not
    learned. A reward function gets the text after the last call as `completions`, and all messages
    as `conversations`.
    """
    max_tool_calling_iterations: int = 4
    """How many times the model may call tools in one answer (`objective.tools`). After that it
    continues without executing further calls.
    """
    tool_seconds: int = 60
    """How many seconds one call of a tool may take (`objective.tools`). A longer call is stopped,
    and the model reads an error message in place of a result. A function in C that never returns to
    Python cannot be stopped.
    """
    vllm: Vllm = "off"
    """Whether vLLM generates the answers (`grpo` and `rloo`). `off`: transformers generates them.
    `colocate`: vLLM runs in the training processes, with a second copy of the weights while it
    generates. `server`: vLLM's own server runs on the last GPU, and the others train.
    """
    policy_loss: PolicyLoss = "dapo"
    """How the loss of the generated answers is averaged (`grpo` only): `dapo` over all tokens of a
    step, `bnpo` over the tokens of a micro-batch, `grpo` first over each answer, `dr_grpo` over the
    maximum answer length.
    """
    loss: PreferenceLoss = "sigmoid"
    """How a pair is turned into a loss. `sigmoid` is the loss of the DPO paper; the others are
    further losses of the pinned TRL.
    """
    beta: float | Auto = "auto"
    """How strongly the model is kept close to its reference: with a higher beta it changes less.
    `orpo`, `cpo` and `simpo` have no reference; in `orpo` beta is the weight of the preference term
    (the paper's lambda), in `cpo` and `simpo` the scale of the rewards. In `grpo` and `rloo` it is
    the weight of the KL penalty against the base model, by default 0. In `distill` and `gkd` it
    selects the divergence, from 0 to 1: 0 is the forward KL (cover all that the teacher says), 1
    the reverse KL (say only what the teacher would), 0.5 the Jensen-Shannon divergence.
    """
    reference: Reference | Auto = "auto"
    """How the reference log-probabilities are computed. `precomputed`: in one pass before training.
    `adapter_off`: at every step, by the base model with its adapter switched off. `copy`: by a
    second, frozen model in memory. Rows with images have no `precomputed`.
    """
    label_smoothing: float | Auto = "auto"
    """The expected fraction of pairs whose answers are labelled the wrong way round (losses
    `robust` and `exo_pair` only).
    """
    margin: float | Auto = "auto"
    """By how much the reward of the chosen answer should exceed that of the rejected one (`simpo`).
    A reward is beta times the mean log-probability of the answer's tokens; auto takes half of beta.
    """
    answer_weight: float | Auto = "auto"
    """The weight in the loss of learning the chosen answers themselves, beside preferring them
    (`cpo` and `simpo`). auto is 1 for `cpo` and 0 for `simpo`, as in their papers.
    """
    desirable_weight: float | Auto = "auto"
    """The weight in the loss of an answer that was rated good; auto balances good and bad answers.
    """
    undesirable_weight: float | Auto = "auto"
    """The weight in the loss of an answer that was rated bad; auto balances good and bad answers.
    """
    pooling: Pooling | Auto = "auto"
    """How the vectors of all tokens become one vector (`embed` only): their mean, that of the first
    token (`cls`) or that of the last one (`lasttoken`). auto takes what the model's own
    `modules.json` says, else the mean for an encoder and the last token for a model that reads from
    left to right.
    """
    similarity_scale: float = 20.0
    """The factor by which the cosine of two vectors is multiplied in the loss (`embed` only). It is
    1 divided by the temperature that papers give.
    """
    matryoshka_dimensions: tuple[int, ...] = ()
    """How many of the first numbers of a vector are to be enough by themselves (`embed` only), by
    `MatryoshkaLoss` of sentence-transformers: the loss is computed at each of these sizes and at
    the full one. Who stores vectors can then keep the first 64 numbers of each, and search faster.
    An empty list trains the full size only.
    """
    hard_negatives: int = 0
    """How many texts that are close to the query but do not belong to it are added to each row, if
    the rows are pairs without a score (`embed` only). `prepare.py` finds them with the untrained
    model among the texts of the training split, by `mine_hard_negatives` of sentence-transformers.
    A text that is nearly as close as the right one is left out, because it may be right too. 0 adds
    none: the wrong texts of a row are those of the other rows of its step.
    """
    wrong_texts: int | Auto = "auto"
    """The number of wrong texts that are drawn for the query of each row, if the rows are pairs
    without a score (`rerank` only). Half of them share words with the query, the others are random.
    The loss gives right texts this weight, so that both kinds count the same. auto takes 3, as
    `mine_hard_negatives` of sentence-transformers does. Each wrong text is one more pair that the
    model reads.
    """
    query_prompt: str | None = None
    """The text that is put before each query, such as `query: ` for E5 (`embed` only). null takes
    the model's own, if `config_sentence_transformers.json` has one.
    """
    document_prompt: str | None = None
    """The text that is put before each text that is searched, such as `passage: ` for E5 (`embed`
    only). null takes the model's own, if `config_sentence_transformers.json` has one.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """Method.

    Which weights are trained: `full`, `freeze`, `lora` (the default) or `qlora`, or an object with
    all settings.
    """

    type: MethodType = "lora"
    """Which weights are trained: all of them (`full`), those of some layers (`freeze`), or small
    matrices beside the frozen weights, which are kept in 16 bits (`lora`) or in 4 or 8 bits
    (`qlora`).
    """
    rank: int | Auto = "auto"
    """The inner dimension of LoRA's matrices (lora and qlora)."""
    alpha: int | Auto = "auto"
    """LoRA's updates are scaled by alpha divided by rank (lora and qlora)."""
    dropout: float = 0.05
    """The fraction of LoRA's inputs that is set to zero during training (lora and qlora). Trainers
    of preference pairs, reward models, `grpo` and `rloo` turn it off.
    """
    targets: Literal["all-linear", "attention"] | tuple[str, ...] | Auto = "auto"
    """Which linear layers get LoRA matrices (lora and qlora): all of them, those of attention, or a
    list of module names.
    """
    target_pattern: str | None = None
    """A regular expression in place of `targets`. A linear layer gets LoRA matrices if the pattern
    matches its full name (lora and qlora).
    """
    experts: bool = False
    """Whether the experts of a mixture-of-experts model get LoRA matrices too (lora and qlora)."""
    also_train: tuple[Part, ...] = ()
    """Further weights to train in full, beside the layers or the adapter: the embeddings, the
    output head, or both (freeze, lora and qlora).
    """
    parts: tuple[ModelPart, ...] = ("language_model",)
    """The parts of an image-text model that are trained by the method: the language model, the
    projector that turns the features of an image into tokens, and the vision tower. The other parts
    stay frozen.
    """
    loraplus_ratio: float | None = None
    """The learning rate of LoRA's B matrices (and of DoRA's magnitudes) as a multiple of the
    learning rate (LoRA+); null uses the same rate for both matrices (lora and qlora).
    """
    rslora: bool = False
    """Whether updates are scaled by alpha divided by the square root of the rank instead of the
    rank (lora and qlora).
    """
    dora: bool = False
    """Whether the magnitude and the direction of the weights are learned separately (lora and
    qlora).
    """
    init: Init = "default"
    """The initial values of LoRA's matrices. `default` and `gaussian` leave the model unchanged at
    first. The others start with the main directions of each weight matrix, computed by SVD
    (`pissa`), by a faster SVD (`pissa_niter_16`) or by QR (`olora`).
    """
    quantization: Quantization = "nf4"
    """The format of the frozen base: 4 bits (`nf4`) or 8 bits (`int8`, LLM.int8) (qlora only)."""
    double_quantization: bool = True
    """Whether the scales of the 4-bit base are quantized too, which saves 0.37 bits per weight
    (qlora only).
    """
    quant_storage: QuantStorage | Auto = "auto"
    """The data type of the tensors that store packed 4-bit weights (qlora only). FSDP can only
    shard tensors of the compute type, so auto uses that type with FSDP, and bytes otherwise.
    """
    layers: int | tuple[int, ...] | Auto = "auto"
    """Which layers are trained while the others stay frozen: a number of layers at the end, or a
    list of layer numbers, starting at 0 (freeze only).
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionCheck:
    """Regression check.

    One check: exactly one of `prompts` (JSON Lines with `prompt` and `answer`), `text` (a plain
    text, judged by its perplexity) and `task` (a task file of EleutherAI's evaluation harness).
    Paths are relative to the spec, and paths in a task file to that file. `max_drop` is the largest
    drop that passes: 0.02 is two points of a score, or a perplexity that is 2 % higher. `metric`
    and `answer_tokens` say how answers to `prompts` are compared, and how long they may be.
    """

    prompts: str | None = None
    text: str | None = None
    task: str | None = None
    max_drop: float = 0.02
    metric: RegressionMetric = "exact_match"
    answer_tokens: int = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """How often the validation split is evaluated, and how the result is measured."""

    every_steps: int | Auto = "auto"
    """The number of optimizer steps between two evaluations of the validation split."""
    metric: Metric | Auto = "auto"
    """The metric for generated answers, beside the loss: the fraction that matches exactly
    (`accuracy`), the mean F1 over labels (`macro_f1`), equality except for white space and case
    (`exact_match`), the last number (`numeric_match`), the longest common subsequence of words
    (`rouge_l`), shared character n-grams (`chrf`), or none. auto decides by the data.
    """
    best_by: BestBy = "loss"
    """How the best checkpoint is chosen: by the lowest validation loss, or by the best metric of
    the answers to validation rows (with preference pairs: by the largest reward margin).
    """
    answered_rows: int = 64
    """The number of validation rows that are answered at each evaluation, if the best checkpoint is
    chosen by the metric or by the rewards of `grpo` and `rloo`.
    """
    samples: int = 0
    """The number of validation rows that the model answers at each evaluation. The answers are
    printed, logged and sent to the tracker, so that their quality can be followed during training.
    They do not influence training.
    """
    allow_worse: bool = False
    """Whether the run continues if the best checkpoint is worse than the model before training, on
    the same validation rows. Otherwise the run stops there, and all trained weights are kept.
    """
    harness: tuple[str, ...] = ()
    """Tasks of EleutherAI's evaluation harness. A separate script, harness.py, runs them on the
    trained model.
    """
    regression: tuple[RegressionCheck, ...] = ()
    """What the trained model must not lose. evaluate.py compares it with the model before training
    on each of these files. It fails if the whole 95 % interval of a drop is above its bound, so
    that noise does not explain it (paired bootstrap over the questions, or over stretches of the
    text).
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """Batch size, schedule, precision, evaluation and checkpoints.

    The plan chooses what is left out.
    """

    epochs: float | Auto = "auto"
    """The number of passes over the training split; a fraction is allowed."""
    max_steps: int | None = None
    """The maximum number of optimizer steps, which overrides the epochs; null trains for the given
    epochs.
    """
    global_batch: int | Auto = "auto"
    """The number of rows per optimizer step, over all processes and accumulation steps."""
    micro_batch: int | Auto = "auto"
    """The number of rows per process and forward pass."""
    learning_rate: float | Auto = "auto"
    """The peak learning rate."""
    embedding_learning_rate: float | None = None
    """The peak learning rate of the embeddings, the output head and the rows of new tokens, if they
    are trained; null uses the same rate as for all other weights.
    """
    compile: bool | Auto = "auto"
    """Whether to run the model through `torch.compile`, which fuses its operations. auto leaves it
    off, because compiling takes minutes before the first step.
    """
    loader_workers: int | Auto = "auto"
    """The number of processes per training process that prepare batches. auto uses none, because
    the rows are already tokenized and memory-mapped from disk; rows with images get four on a GPU
    and one on a CPU.
    """
    loader_prefetch: int | None = None
    """The number of batches that each loader process prepares in advance; null keeps PyTorch's
    default of two. It has no effect without loader processes.
    """
    optimizer: Optimizer = "adamw"
    """The optimizer: AdamW, optionally with 8-bit or paged states; Lion, with one state per weight
    instead of two; Adafactor, with one state per row and column; or plain SGD, with none.
    """
    schedule: Schedule = "cosine"
    """How the learning rate changes after the warm-up."""
    learning_rate_floor: float = 0.0
    """The final learning rate as a fraction of the peak (cosine, polynomial and
    warmup_stable_decay).
    """
    decay: float = 0.1
    """The fraction of all steps, at the end, during which the learning rate decays
    (warmup_stable_decay only).
    """
    cycles: int = 2
    """The number of times the learning rate decays from its peak to zero (cosine_with_restarts
    only).
    """
    power: float = 2.0
    """How steeply the learning rate decays at first: 1 is a straight line, 2 a parabola (polynomial
    only).
    """
    warmup: float = 0.03
    """The fraction of all steps during which the learning rate rises from zero to its peak."""
    weight_decay: float = 0.01
    """How strongly AdamW pulls the weights towards zero."""
    adam_beta2: float = 0.999
    """The fraction of its running mean that the optimizer keeps at each step: for AdamW the mean of
    squared gradients, for Lion the mean of gradients. 0.999 averages over about 1,000 steps, 0.95
    over about 20.
    """
    max_grad_norm: float = 1.0
    """Gradients with a larger norm are scaled down to this norm; 0 turns clipping off."""
    neftune: float | None = None
    """The amount of noise added to the embeddings during training (NEFTune's alpha); null adds
    none.
    """
    router_loss: float | None = None
    """The weight of the auxiliary loss that spreads tokens evenly over the experts of a
    mixture-of-experts model; null keeps the weight in the model's config.json, and 0 turns the loss
    off.
    """
    label_smoothing: float = 0.0
    """The fraction of each target that is spread over the whole vocabulary; 0 turns smoothing off.
    """
    precision: Precision | Auto = "auto"
    """The number format of the forward and backward pass; auto uses the best format that the
    hardware supports.
    """
    gradient_checkpointing: Literal["selective", "offload"] | bool | int | Auto = "auto"
    """Whether activations are recomputed in the backward pass instead of being stored. A number n
    recomputes only every n-th layer; selective recomputes all but attention (sft and cpt, not with
    ZeRO-3); offload recomputes all layers and keeps their inputs in the host's memory (GPUs only).
    auto takes the fastest that fits.
    """
    liger: bool | Auto = "auto"
    """Whether norms, rotary positions and MLPs use the fused Triton kernels of the pinned
    liger-kernel, which store less for the backward pass (GPUs only). auto uses them if they make
    room for a faster layout, or if nothing fits without them.
    """
    group_by_length: bool | Auto = "auto"
    """Whether each step is made of rows of similar length. This saves padding, but makes the order
    of rows less random. auto groups if rows are not packed and random steps would have a lot of
    padding. Inside a step, rows are always sorted by length, unless they are packed or preference
    pairs.
    """
    evaluation: Evaluation = Evaluation()
    keep_checkpoints: int = 2
    """The number of checkpoints kept on disk. The best one is always kept."""
    early_stopping: int | None = None
    """Stop if validation has not improved for this many evaluations; null trains to the end."""
    seed: int = 42
    """The seed of every random choice: splits, order of rows, initial LoRA weights, dropout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """Hardware.

    The machine that runs the bundle: a GPU's name with an optional count, `auto` for this machine,
    `cpu`, or an object with all settings.
    """

    gpu: str = "auto"
    """The GPU's name, `auto` for the GPUs of the machine that compiles, or `cpu`."""
    count: int | Auto = "auto"
    """The number of GPUs per machine, or of processes on a CPU. auto means one, or all of the
    machine's GPUs if `gpu` is `auto`.
    """
    ram_gib: float | None = None
    """The host memory in GiB; null if unknown."""
    disk_gib: float | None = None
    """The free disk space in GiB; null if unknown."""
    nodes: int = 1
    """The number of such machines that train together. The batch is divided among all of their
    processes, and the machines need a shared folder.
    """
    network_gbit: float | None = None
    """The bandwidth of a node to the others in Gbit/s, all its network cards together; null if
    unknown.
    """
    price_per_hour: float | None = None
    """The price of one GPU per hour (on a CPU, of the machine), a plain number in any currency;
    null if unknown.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """How several processes share one model."""

    strategy: Strategy | Auto = "auto"
    """How several processes share one model. `ddp`: each has a copy. DeepSpeed's ZeRO shards the
    optimizer (`zero1`), the gradients too (`zero2`), or the weights too (`zero3`). PyTorch's FSDP2
    shards all three (`fsdp`). auto chooses between copies and ZeRO, because FSDP needs as much
    memory as ZeRO-3.
    """
    offload: Offload | Auto = "auto"
    """What is kept in host memory instead of on the GPUs: nothing (`none`), the optimizer
    (`optimizer`, with ZeRO), or the weights as well (`parameters`, with ZeRO-3 and FSDP).
    """
    nvme_path: str | None = None
    """An absolute path to a folder on a local disk, preferably NVMe. What `offload` names is then
    kept in files there instead of in host memory (ZeRO-3 only). Every node needs this folder. null
    offloads to host memory.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Verify:
    """The maximum difference between a GGUF file or a folder for vLLM and the trained 16-bit model.

    If a file exceeds it, the export fails.
    """

    max_divergence: float | Auto = "auto"
    """The maximum mean KL divergence of the file's next-token probabilities from the trained
    model's, in nats per token. The export fails above it. auto measures what the rounding of each
    type should cost this model, and adds a margin.
    """
    min_agreement: float | Auto = "auto"
    """The minimum fraction of tokens at which the file and the trained model must rank the same
    token first. auto measures what the rounding of each type should cost this model, and subtracts
    a margin.
    """
    max_perplexity_ratio: float | Auto = "auto"
    """The maximum perplexity of the file on the learned tokens, as a multiple of the trained
    model's. auto measures what the rounding of each type should cost this model, and adds a margin.
    """
    max_metric_drop: float | Auto = "auto"
    """How far the file's accuracy on the test split may be below the trained model's, as a fraction
    of all rows. auto measures what the rounding of each type should cost this model, and adds three
    standard errors of the difference.
    """
    tokens: int = 4096
    """The maximum number of held-out tokens at which a file is compared with the trained model.
    During the comparison, each position takes two bytes of disk per token of the vocabulary.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """The GGUF files to write, and quantized folders for vLLM.

    With none, the export stops after the merged 16-bit folder.
    """

    adapter: bool = False
    """Also write the LoRA adapter as a separate GGUF file, together with its base model as GGUF.
    The two are compared with the merged model.
    """
    types: tuple[GgufType, ...] = ()
    """The GGUF files to write. With an empty list, the export stops after the merged 16-bit folder.
    """
    vllm: tuple[ServedType, ...] = ()
    """Quantized safetensors folders for vLLM and SGLang, in the format of compressed-tensors.
    Weights are rounded to the nearest value of the type: W4A16 is not GPTQ or AWQ, which lose less.
    Embeddings, the output head and norms keep 16 bits. FP8 and NVFP4 also round activations, with
    scales from training rows. Each folder is compared with the trained model.
    """
    verify: Verify = Verify()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracking:
    """Tracking.

    Where training metrics are logged besides the run's own log: TensorBoard (files in the run
    folder), W&B, MLflow, Trackio, or nowhere else (`none`). Servers and keys come from the
    environment.
    """

    type: Tracker = "tensorboard"
    """`tensorboard` writes files under `run/`. `wandb`, `mlflow` and `trackio` send to the server
    that the environment names. `none` keeps only the run's log.
    """
    project: str | None = None
    """The project in W&B and Trackio, or the experiment in MLflow; null uses the spec's name."""
    run: str | None = None
    """The name of the run; null uses the spec's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Launch.

    What starts the bundle: a shell (`local`), Slurm, Kubernetes (Kubeflow Trainer) or SkyPilot.
    """

    type: Launcher = "local"
    """What starts the bundle. `local` is run.sh alone; `slurm` adds slurm.sh, `kubernetes` adds
    k8s.yaml with a TrainJob, `skypilot` adds sky.yaml.
    """
    partition: str | None = None
    """The Slurm partition; null uses the cluster's default."""
    account: str | None = None
    """The Slurm account to charge; null uses the user's default."""
    qos: str | None = None
    """Slurm's quality of service; null uses the default."""
    hours: float | None = None
    """The maximum number of hours that a Slurm job runs before it saves a checkpoint, ends and is
    queued again; null uses the partition's limit.
    """
    modules: tuple[str, ...] = ()
    """The modules that `module load` loads before anything else."""
    container: str | None = None
    """An Apptainer image that all scripts run in: a file (relative to the spec), or an address such
    as `docker://...`; null uses no container.
    """
    image: str | None = None
    """The container image, with Python and the packages of requirements.txt. Kubernetes requires
    one.
    """
    volume: str | None = None
    """The PersistentVolumeClaim with the bundle and its data, shared by all nodes."""
    secret: str | None = None
    """The Kubernetes Secret with the Hub token under the key `HF_TOKEN`; null passes no token."""
    namespace: str | None = None
    """The Kubernetes namespace; null uses the namespace of the current context."""
    spot: bool = False
    """Whether SkyPilot may use spot machines, which the provider can reclaim. SkyPilot then
    restarts the job on another machine.
    """
    bucket: str | None = None
    """The folder of a bucket that SkyPilot mounts as `run/`, so that checkpoints are kept when the
    machine is reclaimed; null keeps them on the machine.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Publish:
    """Publish.

    Where publish.py uploads the result on the Hub: the name of a repository, or an object with all
    settings. Nothing is uploaded before `python publish.py --push`.
    """

    repo: str | None = None
    """The repository on the Hub, as `owner/name`. publish.py creates it if it does not exist."""
    what: tuple[Published, ...] | Auto = "auto"
    """What is uploaded beside the model card: the adapter, the merged weights, the GGUF files, the
    folders for vLLM. With `auto`, the adapter of a base on the Hub or else the merged weights, and
    the GGUF files and the folders for vLLM if there are any.
    """
    private: bool = True
    """Whether publish.py creates the repository as a private one. An existing repository stays as
    it is.
    """
    licence: str | None = None
    """The licence of the result, by its identifier on the Hub or by its own name. publish.py needs
    one.
    """
    data_licence: str | None = None
    """The licence of the training data, for the model card. With null, the card says that it is not
    stated.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """The specification of one fine-tune.

    Every value that is left out is derived, and the plan gives the reason for it.
    """

    name: str
    """The name of the run and of its folder: lowercase letters, digits and hyphens, at most 63
    characters.
    """
    model: Model
    data: Data
    objective: Objective = Objective()
    method: Method = Method()
    training: Training = Training()
    hardware: Hardware = Hardware()
    distribution: Distribution = Distribution()
    export: Export = Export()
    tracking: Tracking = Tracking()
    launch: Launch = Launch()
    publish: Publish = Publish()
    allow: tuple[str, ...] = ()
    """The codes of the warnings that this spec accepts."""
    said: frozenset[str]
    """JSON pointers, of the long form, to what the user wrote: they tell a choice from a default.
    """
