"""The explanations of FTC090 to FTC094, about files of other trainers."""

from typing import Final

from ftc.spec.findings.file_explanations import make_explanation

FOREIGN: Final = make_explanation(
    "FTC090",
    "foreign-config",
    "The file is a config of another trainer: axolotl, LLaMA-Factory, torchtune, TRL or Unsloth.",
    "Its keys have other names and other defaults, so each would be reported as unknown.",
    "ftc check axolotl.yaml",
    "ftc import axolotl.yaml -o spec.json",
)
REFUSED: Final = make_explanation(
    "FTC091",
    "foreign-training",
    "A key of the imported file asks for a training that `ftc import` does not carry over: on "
    "images or audio, with an objective or an adapter that ftc does not have, of quantized "
    "weights, or on a selection of tokens or a column that ftc does not read.",
    "Without this key, the spec would describe another training than the file does.",
    "rl: gdpo",
    "the tool that the file is for; or a copy of the file without the key",
)
UNKNOWN: Final = make_explanation(
    "FTC092",
    "unknown-config",
    "The file has no keys by which ftc recognises a config of another trainer.",
    "ftc does not guess what a key of an unknown tool means.",
    "ftc import accelerate.yaml",
    "ftc import axolotl.yaml",
)
BROKEN: Final = make_explanation(
    "FTC093",
    "broken-config",
    "The imported file is not YAML, JSON, Python or a notebook.",
    "A file that is read in part would give a spec with parts missing.",
    "datasets: [{path: rows.jsonl",
    "datasets: [{path: rows.jsonl}]",
)
INCOMPLETE: Final = make_explanation(
    "FTC094",
    "config-without-data",
    "The imported file does not name its data or its model: it computes them when it runs, or "
    "leaves them out.",
    "A spec needs both, and ftc runs nothing of the file to find them.",
    "ftc import notebook.ipynb",
    "ftc import notebook.ipynb --data rows.jsonl",
)

EXPLANATIONS: Final = (FOREIGN, REFUSED, UNKNOWN, BROKEN, INCOMPLETE)
