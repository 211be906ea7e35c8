"""The explanations of facts that could not be had: models, tokenizers, data and hardware."""

from typing import Final

from ftc.spec.findings.explanation import Explanation
from ftc.spec.findings.finding import Safety

_MODEL: Final = "/model/id"


def _page(
    code: str,
    name: str,
    *,
    what: str,
    why: str,
    example: str,
    instead: str,
    pointer: str = "",
    fix_safety: Safety = "safe",
) -> Explanation:
    """Return an explanation with its four parts under their headings."""
    parts = (
        f"**What it is.** {what}",
        f"**Why it matters.** {why}",
        f"**Example**\n\n```json\n{example}\n```",
        f"**Use instead.** {instead}",
    )
    text = "\n\n".join(parts) + "\n"
    return Explanation(
        code=code, name=name, severity="error", text=text, pointer=pointer, fix_safety=fix_safety
    )


MODEL_FOLDER: Final = _page(
    "FTC100",
    "missing-model-folder",
    pointer=_MODEL,
    what="The spec names a folder for its model, and that folder does not exist.",
    why="Nothing can be planned without the model's configuration.",
    example='{"model": "./models/my-modle"}',
    instead="A folder relative to the spec file, or an id on the Hub such as `owner/name`.",
)
NO_CONFIG: Final = _page(
    "FTC101",
    "model-without-config",
    pointer=_MODEL,
    what="The model's folder or repository holds no `config.json`.",
    why="transformers reads the architecture and its sizes from that file and loads nothing else.",
    example='{"model": "./checkpoints"}',
    instead="The folder that `save_pretrained` wrote: it holds `config.json` beside the weights.",
)
BROKEN_CONFIG: Final = _page(
    "FTC102",
    "broken-model-config",
    pointer=_MODEL,
    what="`config.json` is not JSON, lacks a value that every causal model has, or has one that"
    " transformers rejects. The same can be true of `generation_config.json`.",
    why="transformers would stop at the same file, on a machine that you pay for by then.",
    example='{"model": "./half-copied"}',
    instead="A complete copy of the model's folder.",
)
NOT_CAUSAL: Final = _page(
    "FTC103",
    "not-a-causal-model",
    pointer=_MODEL,
    what="The architecture predicts something other than the next token of a text.",
    why="Sequence-to-sequence and image models cannot be fine-tuned by these scripts. An encoder is"
    " trained with the objectives `embed` and `rerank` only, if it is one of those that ftc has.",
    example='{"model": "google-bert/bert-base-uncased"}',
    instead="A model whose architecture ends in `ForCausalLM` or `LMHeadModel`.",
)
ADAPTER: Final = _page(
    "FTC104",
    "adapter-as-model",
    pointer=_MODEL,
    what="The folder holds a PEFT adapter, which is a change to a model and not a model.",
    why="Training starts from a complete model; an adapter has no configuration to plan with.",
    example='{"model": "./run/adapter"}',
    instead="The base model, or the folder of the merged model.",
)
GGUF: Final = _page(
    "FTC105",
    "gguf-as-model",
    pointer=_MODEL,
    what="The model is a GGUF file, or a folder or repository with nothing but GGUF files.",
    why="GGUF is quantized for llama.cpp; training needs the original weights.",
    example='{"model": "./llama.Q4_K_M.gguf"}',
    instead="The repository or folder that the GGUF was converted from.",
)
MODEL_NOT_FOUND: Final = _page(
    "FTC106",
    "unknown-model",
    pointer=_MODEL,
    fix_safety="unsafe",
    what="The Hub has no repository with this id, or it is private.",
    why="Nothing can be downloaded from it.",
    example='{"model": "Qwen/Qwen2.5-7B-Instuct"}',
    instead="The id as the model's page writes it; for a private one, a token in `HF_TOKEN`.",
)
GATED: Final = _page(
    "FTC107",
    "gated-model",
    pointer=_MODEL,
    what="The repository's files are given only to those who accepted its terms.",
    why="Without access neither the tokenizer nor the weights can be read, here or on the GPU.",
    example='{"model": "meta-llama/Llama-3.1-8B-Instruct"}',
    instead="Accept the terms on the model's page, then put a token of that account in `HF_TOKEN`.",
)
LIMITED: Final = _page(
    "FTC108",
    "hub-rate-limit",
    pointer=_MODEL,
    what="The Hub refuses more requests for now (status 429).",
    why="The model's facts are neither in the cache nor in the built-in table.",
    example='{"model": "someone/some-model"}',
    instead="Compile again in some minutes, or set `HF_TOKEN`: known users get more requests.",
)
UNREACHABLE: Final = _page(
    "FTC109",
    "model-out-of-reach",
    pointer=_MODEL,
    what="The Hub cannot be reached, and no other source knows the model.",
    why="Its size, its tokenizer and its context are needed to plan anything.",
    example='{"model": "someone/some-model"}',
    instead="A network, a copy of the model's folder, or a filled cache (`HF_HOME`).",
)
HALF_CACHED: Final = _page(
    "FTC110",
    "half-downloaded-model",
    pointer=_MODEL,
    what="The cache holds a part of the repository, but not its `config.json`.",
    why="A download was interrupted; offline it cannot be completed.",
    example='{"model": "someone/some-model"}',
    instead="`hf download ID` on a machine with a network, or compile without `HF_HUB_OFFLINE`.",
)
UNCOUNTED: Final = _page(
    "FTC111",
    "uncountable-model",
    pointer=_MODEL,
    what="A safetensors file has no readable header; or the architecture is not in ftc's table, or "
    "`config.json` has sizes that its class refuses, and no safetensors file gives the number of "
    "parameters.",
    why="Memory, time and disk all follow from the number of parameters.",
    example='{"model": "./new-architecture"}',
    instead="Weights as safetensors: `save_pretrained` writes them by default.",
)
NO_REVISION: Final = _page(
    "FTC112",
    "unknown-revision",
    what="The repository has no such branch, tag or commit.",
    why="A run must be able to name the exact weights that it started from.",
    example='{"model": {"id": "Qwen/Qwen2.5-7B-Instruct", "revision": "v9"}}',
    instead="A commit hash or a tag of the repository, or no `revision` for its main branch.",
)
NO_TOKENIZER: Final = _page(
    "FTC113",
    "model-without-tokenizer",
    what="The model has neither a `tokenizer.json` nor a `tokenizer.model`.",
    why="Text cannot be turned into tokens, neither for training nor in the exported model.",
    example='{"model": "./weights-only"}',
    instead="Save the tokenizer into the same folder: `tokenizer.save_pretrained(folder)`.",
)
BROKEN_TOKENIZER: Final = _page(
    "FTC114",
    "broken-tokenizer",
    what="A file of the tokenizer cannot be read.",
    why="transformers would stop at the same file.",
    example='{"model": "./half-copied"}',
    instead="A complete copy of the tokenizer's files.",
)
NO_TEMPLATE: Final = _page(
    "FTC115",
    "missing-chat-template",
    what="The file that `model.chat_template` names does not exist, or is not UTF-8 text.",
    why="The conversations would be formatted differently from what the spec says.",
    example='{"model": {"id": "./base", "chat_template": "chatml.jinja"}}',
    instead="The path of a Jinja file, relative to the spec.",
)
BROKEN_TEMPLATE: Final = _page(
    "FTC116",
    "broken-chat-template",
    what="The chat template is not valid Jinja.",
    why="No conversation could be formatted, in training or after.",
    example='{"model": {"id": "./base", "chat_template": "broken.jinja"}}',
    instead="A template that `tokenizer.apply_chat_template` renders.",
)
LFS_POINTER: Final = _page(
    "FTC134",
    "git-lfs-pointer",
    what="A file of the model or the data is a pointer of git-lfs: a few lines of text that stand "
    "for the file.",
    why="The repository was cloned without git-lfs, so the content was never downloaded.",
    example='{"model": "./cloned-without-git-lfs"}',
    instead="The same clone after `git lfs pull`, or a download of the repository.",
)
DAMAGED_WEIGHTS: Final = _page(
    "FTC135",
    "damaged-weights",
    pointer=_MODEL,
    what="The size of a safetensors file differs from what its header says, or a matrix holds"
    " NaN or infinity.",
    why="After an interrupted copy or download, loading the model would stop at that file. A run"
    " that diverged saves NaN, with which every loss is NaN.",
    example='{"model": "./half-downloaded"}',
    instead="A complete copy of the file, or a checkpoint from before the run diverged.",
)
NO_FILE: Final = _page(
    "FTC200",
    "missing-data-file",
    fix_safety="unsafe",
    what="The file that `data` names does not exist or is not readable.",
    why="There is nothing to train on.",
    example='{"data": "tikets.csv"}',
    instead="The path of a file relative to the spec, or the id of a data set on the Hub.",
)
NO_FORMAT: Final = _page(
    "FTC201",
    "unknown-data-format",
    what="The file's extension does not name a format that ftc reads.",
    why="A wrong guess would train on something other than the data.",
    example='{"data": "tickets.txt"}',
    instead="csv, jsonl, json or parquet; `data.format` says which when the extension does not.",
)
NOT_TEXT: Final = _page(
    "FTC202",
    "not-a-table",
    what="The file is not a table of text: a spreadsheet, an archive, a web page or other bytes.",
    why="It is another kind of file than its name says, and has no rows that can be read.",
    example='{"data": {"source": "tickets.xls", "format": "csv"}}',
    instead="Export the table as CSV in UTF-8.",
)
BROKEN_DATA: Final = _page(
    "FTC203",
    "broken-data-file",
    what="The file is not what its format says.",
    why="Reading it would stop in the middle, or silently miss rows.",
    example='{"data": "rows.json"}',
    instead="A file that its own format's tools read: `python -m json.tool rows.json` shows where "
    "a JSON file breaks.",
)
NO_ROWS: Final = _page(
    "FTC204",
    "no-usable-rows",
    what="The file has no rows, every row is blank or malformed, or scores are not on the scale "
    "of 0 to 1.",
    why="There is nothing to train on; on another scale, some would be learned as full scores.",
    example='{"data": "header-only.csv"}',
    instead="A file with one example per row; `data.columns` says which column is which.",
)
NO_COLUMN: Final = _page(
    "FTC205",
    "missing-column",
    fix_safety="unsafe",
    what="`data.columns` names a column that the file does not have.",
    why="Every row would be blank.",
    example='{"data": {"source": "tickets.csv", "columns": {"prompt": "mesage"}}}',
    instead="A name from the file's header, spelt in the same way.",
)
NO_ROLES: Final = _page(
    "FTC206",
    "unrecognised-columns",
    fix_safety="unsafe",
    what="The columns do not show which is the prompt, the answer, the conversation or the text.",
    why="A wrong guess would teach the model the wrong thing.",
    example='{"data": "export.csv"}',
    instead='Name them: `"columns": {"prompt": "Subject", "completion": "Team"}`.',
)
NO_PARQUET: Final = _page(
    "FTC207",
    "parquet-without-reader",
    what="Parquet is read by pyarrow and images by Pillow, and one of them is not installed.",
    why="The core of ftc is kept light.",
    example='{"data": "rows.parquet"}',
    instead='`pip install ".[data]"` in a clone of ftc, or the same table as csv or jsonl.',
)
DATASET_NOT_FOUND: Final = _page(
    "FTC208",
    "unknown-data-set",
    what="The Hub has no data set with this id or revision, or it is private.",
    why="Nothing can be downloaded from it.",
    example='{"data": "PolyAI/bankin77"}',
    instead="The id as the data set's page writes it; a file needs its extension.",
)
GATED_DATASET: Final = _page(
    "FTC209",
    "gated-data-set",
    what="The data set's files are given only to those who accepted its terms.",
    why="Neither ftc nor the bundle could read it.",
    example='{"data": "owner/gated-set"}',
    instead="Accept the terms on its page, then put a token of that account in `HF_TOKEN`.",
)
DATASET_UNREACHABLE: Final = _page(
    "FTC210",
    "data-set-out-of-reach",
    what="The Hub cannot be reached or refuses more requests, and the cache lacks the data set.",
    why="Rows, columns and lengths are needed to plan.",
    example='{"data": "owner/data-set"}',
    instead="A network, a filled cache (`HF_HOME`), or a downloaded file.",
)
NO_SPLIT: Final = _page(
    "FTC211",
    "data-set-without-files",
    what="The data set has no csv, jsonl, json or parquet file of the subset and split named.",
    why="Data sets that exist as a script or as archives are not read: no remote code is run.",
    example='{"data": {"source": "owner/data-set", "split": "trian"}}',
    instead="The name of a split and a subset that the data set's files have.",
)
TWO_COLUMNS: Final = _page(
    "FTC212",
    "ambiguous-column",
    what="The header has the name of a needed column more than once.",
    why="It is not clear which of the two columns is the answer.",
    example='{"data": "a-table-with-two-columns-called-label.csv"}',
    instead="A unique name for each column.",
)
MIXED_FORMS: Final = _page(
    "FTC256",
    "unlike-sources",
    what="The rows of two sources have forms that cannot be trained on together.",
    why="A conversation, a plain text and a pair of answers are read, masked and padded in "
    "different ways, and one run has only one of them.",
    example='{"data": {"sources": ["chats.jsonl", "handbook-of-plain-text.jsonl"]}}',
    instead="Sources of one form; conversations, instructions and prompts with completions mix.",
)
UNSTREAMABLE: Final = _page(
    "FTC260",
    "unstreamable-data-set",
    what="The data set is to be streamed, and its files can only be read whole.",
    why="Rows are taken from parts of files: a JSON list has none, and text in UTF-16 none that "
    "shows where a row begins.",
    example='{"data": {"source": "owner/one-json-list", "streaming": true, "max_rows": 20000}}',
    instead="The same data set as parquet, JSON lines or CSV; the Hub keeps a copy as parquet of "
    "many data sets at the revision `refs/convert/parquet`.",
)
NO_GPU_NAME: Final = _page(
    "FTC300",
    "unknown-gpu",
    what="ftc's table of accelerators has no GPU of this name.",
    why="Its memory and its number formats decide most of the plan.",
    example='{"hardware": "2x A100-90GB"}',
    instead='A name such as `A100-80GB` or `RTX-4090`, `"auto"` for this machine, or `"cpu"`.',
    fix_safety="unsafe",
)
NO_CUDA: Final = _page(
    "FTC334",
    "accelerator-without-cuda",
    what="The accelerator is not NVIDIA's: a GPU of AMD, Apple or Intel, a TPU or the like.",
    why="A bundle installs torch from the package index, whose builds for GPUs need CUDA. On "
    "another accelerator they find no device, and bitsandbytes has no kernels.",
    example='{"hardware": "8x MI300X"}',
    instead='An NVIDIA GPU such as `H200` or `A100-80GB`, or `"cpu"`.',
)
NO_CALIBRATION: Final = _page(
    "FTC308",
    "unusable-calibration",
    what="The file that `--calibrate` names is not what `./run.sh --pilot` writes, or its numbers "
    "are impossible.",
    why="Its numbers would scale the memory and the time of the plan.",
    example='{"version": 1, "machine": {"kind": "gpu"}}',
    instead="The unchanged `run/pilot/pilot.json` of a pilot that ran to its end.",
)
OTHER_MACHINE: Final = _page(
    "FTC309",
    "calibration-of-another-machine",
    what="The pilot ran on other devices than those of the spec, or on another number of them.",
    why="Memory and speed that were measured there say little about this hardware.",
    example='{"hardware": "2x A100-80GB"}',
    instead="The pilot of a bundle that was compiled for this hardware and ran on it; or the "
    "machine of the pilot as the spec's `hardware`.",
)

SEEN_BEFORE: Final = Explanation(
    code="FTC563",
    name="held-out-rows-seen-before",
    severity="warning",
    text="""\
**What it is.** The model is what another bundle makes, and prompts of this spec's data are among
those that the other bundle trains on, while the two do not hold out the same ones.

**Why it matters.** Validation and test then hold prompts whose answers the model has learned: the
score is too high, and says little about new prompts. `prepare.py` counts such rows once the rows
of both runs are there.

**Example**

```json
{"model": "./shop-assistant", "data": "pairs-from-the-same-tickets.jsonl", "objective": "dpo"}
```

**Use instead.** In both specs the same `training.seed`, the same `data.splits` with `stratify`
false (preferences have no labels to stratify by), and the prompts in the same order: both then hold
out the same prompts. Or data without the prompts that the other bundle trained on
(`run/data/train.jsonl` there).
""",
)

EXPLANATIONS: Final[tuple[Explanation, ...]] = tuple(
    each for each in list(globals().values()) if isinstance(each, Explanation)
)
