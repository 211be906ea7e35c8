"""Write a small image-text model without training.

    python build_seeing.py FAMILY DIR SHAPES SDIST

`seeing.json` has a miniature of each family: the config as a Hub has it, its processor's files and
its chat template. SHAPES is a file of rows whose texts a sentencepiece tokenizer is made from;
SDIST has the vocabulary of a real one. Tensors have the names that their publisher gave them.
"""

import io
import json
import sys
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from safetensors.torch import load_file, save_file
from tokenizers import AddedToken, Tokenizer
from transformers import AutoConfig, AutoModelForImageTextToText, AutoTokenizer

from tests.real_tokenizers import real_tokenizer

SPREAD = 0.06  # of the weights: a tower of the usual ones tells shapes apart only slowly
ROLES = ("system", "user", "assistant", "model")


def write_json(path: Path, data: object) -> None:
    """Write a JSON file."""
    path.write_text(json.dumps(data, indent=1), encoding="utf-8")


def write_pieces(case: dict[str, Any], folder: Path, shapes: Path) -> dict[str, Any]:
    """Write a sentencepiece model of the texts of the rows; return its settings."""
    rows = [json.loads(line) for line in shapes.read_text(encoding="utf-8").splitlines()]
    texts = [text for row in rows for text in (row["question"], row["answer"])]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([*texts, *(f"{role}\n" for role in ROLES)]),
        model_writer=model,
        model_type="bpe",
        vocab_size=384,
        hard_vocab_limit=False,
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        add_dummy_prefix=False,
        control_symbols=case["special"],
        pad_id=3,
        bos_piece="<bos>",
        eos_piece="<eos>",
        minloglevel=2,
    )
    (folder / "tokenizer.model").write_bytes(model.getvalue())
    return {
        "tokenizer_class": "LlamaTokenizer",
        "add_prefix_space": False,
        "add_bos_token": False,
        "add_eos_token": False,
        "bos_token": "<bos>",
        "eos_token": "<eos>",
        "unk_token": "<unk>",
        "pad_token": "<pad>",
        "extra_special_tokens": case["special"],
    }


def write_tokenizer(case: dict[str, Any], folder: Path, shapes: Path, sdist: Path) -> Any:
    """Write the tokenizer of a family and return it."""
    if case["tokenizer"] == "sentencepiece":
        settings = write_pieces(case, folder, shapes)
        write_json(folder / "tokenizer_config.json", settings | case["named"])
        AutoTokenizer.from_pretrained(folder).save_pretrained(folder)  # adds tokenizer.json
    else:
        real_tokenizer(case["tokenizer"], folder, sdist=sdist)
        path = folder / "tokenizer.json"
        tokenizer = Tokenizer.from_file(str(path))
        tokenizer.add_special_tokens([AddedToken(text, special=True) for text in case["special"]])
        tokenizer.save(str(path))
        settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    settings |= case["named"] | {"chat_template": case["template"]}
    write_json(folder / "tokenizer_config.json", settings)
    return AutoTokenizer.from_pretrained(folder)


def write_weights(case: dict[str, Any], folder: Path) -> None:
    """Write weights under the released names, and leave config.json as it is."""
    torch.manual_seed(3)
    config = AutoConfig.from_pretrained(folder)
    for section in (config, config.text_config, config.vision_config):
        section.initializer_range = SPREAD
    written = (folder / "config.json").read_bytes()
    kind: Any = AutoModelForImageTextToText
    model = kind.from_config(config, dtype=torch.float32)
    model.to(torch.bfloat16).save_pretrained(folder)
    (folder / "config.json").write_bytes(written)
    path = folder / "model.safetensors"
    weights = load_file(path)
    for begins, released in case.get("renamed", {}).items():
        weights = {
            released + name.removeprefix(begins) if name.startswith(begins) else name: weight
            for name, weight in weights.items()
        }
    save_file(weights, path, metadata={"format": "pt"})


def main() -> None:
    """Write the folder."""
    family, folder, shapes = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    case = json.loads(Path(__file__).with_name("seeing.json").read_text(encoding="utf-8"))[family]
    folder.mkdir(parents=True)
    tokenizer = write_tokenizer(case, folder, shapes, Path(sys.argv[-1]))
    number = tokenizer.convert_tokens_to_ids
    config = case["config"] | {name: number(text) for name, text in case["ids"].items()}
    ends = sorted({tokenizer.eos_token_id, number(case["end"])})
    config["text_config"] |= {
        "vocab_size": len(tokenizer),
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    write_json(folder / "config.json", config)
    for name, content in case["files"].items():
        write_json(folder / name, content)
    write_weights(case, folder)
    write_json(folder / "generation_config.json", {"eos_token_id": ends})


if __name__ == "__main__":
    main()
