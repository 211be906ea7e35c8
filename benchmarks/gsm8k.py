"""A whole run on GSM8K: 7,473 real questions and a small model, up to Q4_K_M.

    python -m benchmarks.gsm8k                 # writes benchmarks/gsm8k.md
    python -m benchmarks.gsm8k --rows 300      # a short version, printed

The script makes the model: a Llama with 3 million random weights and a sentencepiece tokenizer
trained on the questions. It does not learn to calculate; the run tests the whole way from the data
to quantized files, each compared with the trained model. Reads
../shared/data/gsm8k_train.jsonl, or the data folder that FTC_SHARED names.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.rehearsals import ROOT, describe_machine, find_sdist
from benchmarks.sentencepiece_models import finish_tokenizer, train_sentencepiece

REPORT: Final = Path(__file__).with_name("gsm8k.md")
DATA: Final = Path(os.environ.get("FTC_SHARED") or ROOT.parent / "shared") / "data"
_TOKENS: Final = 2048
_NAMED: Final = {
    "pad_token": "<pad>",
    "eos_token": "</s>",
    "bos_token": "<s>",
    "unk_token": "<unk>",
}
_CONFIG: Final[Mapping[str, Any]] = {
    "hidden_size": 256,
    "intermediate_size": 768,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 1024,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "bos_token_id": 2,
    "tie_word_embeddings": False,
}
_TYPES: Final = ("F16", "Q8_0", "Q4_K_M")
_SEED: Final = 8
_FEW_STEPS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run that ended: its exit code, output, seconds and bundle."""

    code: int
    said: str
    seconds: float
    bundle: Path

    def read(self, name: str) -> Any:
        """Return a JSON file of the run."""
        return json.loads((self.bundle / "run" / name).read_text(encoding="utf-8"))


def make_model(folder: Path, texts: list[str], *, tokens: int = _TOKENS, **sizes: int) -> None:
    """Write the model's folder: tokenizer, config with these sizes, random weights."""
    import torch  # noqa: PLC0415 - takes seconds, and the command may only ask for help
    from transformers import LlamaConfig, LlamaForCausalLM  # noqa: PLC0415

    folder.mkdir(parents=True)
    model = train_sentencepiece(texts, tokens=tokens, named=tuple(_NAMED.values()))
    (folder / "tokenizer.model").write_bytes(model)
    finish_tokenizer(folder, {**_NAMED, "add_prefix_space": False})
    torch.manual_seed(_SEED)
    LlamaForCausalLM(LlamaConfig(vocab_size=tokens, **{**_CONFIG, **sizes})).save_pretrained(folder)


def run_whole(folder: Path, data: Path, *, rows: int | None = None) -> Run:
    """Make the model, compile the spec and run the bundle: a full epoch, or a few steps."""
    lines = data.read_text(encoding="utf-8").strip().split("\n")[:rows]
    read = [json.loads(line) for line in lines]
    make_model(folder / "model", [text for row in read for text in row.values()])
    (folder / data.name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    spec = {
        "name": "gsm8k",
        "model": "./model",
        "data": {
            "source": data.name,
            "columns": {"prompt": "question", "completion": "answer"},
        },
        "hardware": "cpu",
        "method": "full",
        "training": {
            "global_batch": 32,
            "learning_rate": 0.002,
            **({"epochs": 1} if rows is None else {"max_steps": _FEW_STEPS}),
        },
        "export": list(_TYPES),
    }
    (folder / "spec.json").write_text(json.dumps(spec, indent=2), encoding="utf-8")
    own = str(Path(sys.executable).parent)
    environment = {
        **os.environ,
        "PATH": f"{own}{os.pathsep}{os.environ['PATH']}",
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "FTC_LLAMA_CPP_SDIST": str(find_sdist()),
    }
    began = time.monotonic()
    command = "ftc compile spec.json && gsm8k/run.sh"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - began
    return Run(code=done.returncode, said=done.stdout, seconds=seconds, bundle=folder / "gsm8k")


def report(run: Run) -> str:
    """Return the report: the run, its results and the quality of each file."""
    counts = run.read("data/report.json")["splits"]
    curve = run.read("train/curve.json")["train"]
    judged = run.read("evaluate/report.json")
    files = run.read("quantize/quality.json")["files"]
    split = ", ".join(f"{count:,} in {name}" for name, count in counts.items())
    lines = [
        "# A whole run on GSM8K",
        "",
        f"`python -m benchmarks.gsm8k` {describe_machine()}",
        "",
        f"A Llama with 3 million random weights and a new tokenizer of {_TOKENS:,} tokens, trained",
        f"in full on gsm8k_train.jsonl (MIT; {split}) for {curve[-1][0]} steps of",
        "32 rows: prepare, train, evaluate, convert, quantize and verify in",
        f"{run.seconds / 60:.0f} minutes. The loss went from {curve[0][1]:.2f} to",
        f"{curve[-1][1]:.2f} nats per token, {judged['loss']:.2f} on the test split of",
        f"{judged['rows']:,} rows. The model does not learn to calculate: the run shows that",
        "each file gives the same results as the trained model.",
        "",
        "| type | MiB | KL, nats per token | bound | same next token | perplexity | verdict |",
        "| --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    lines += [
        f"| {one['type']} | {one['bytes'] / 2**20:.1f} | {one['divergence']:.1e} |"
        f" {one['bounds']['max_divergence']:g} | {one['agreement']:.1%} |"
        f" x {one['perplexity_ratio']:.4f} | {one['fault'] or 'sound'} |"
        for one in files
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run, and write or print the report."""
    parser = argparse.ArgumentParser(description="A whole run on GSM8K.")
    parser.add_argument(
        "--rows", type=int, help="use only this many rows and a few steps, and print the report"
    )
    rows = parser.parse_args().rows
    data = DATA / "gsm8k_train.jsonl"
    if not data.is_file():
        parser.error(f"{data} does not exist: set FTC_SHARED to the folder that contains data/")
    with tempfile.TemporaryDirectory(prefix="ftc-gsm8k-") as folder:
        run = run_whole(Path(folder), data, rows=rows)
        if run.code:
            print(run.said[-3000:], file=sys.stderr)
            return 1
        page = report(run)
    if rows is None:
        REPORT.write_text(page, encoding="utf-8")
    print(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
