"""Build the small, untrained Llama of the quickstart: tokenizer, chat template and weights.

    python make_model.py              # writes model/ beside this script
    python make_model.py --out DIR

It needs torch, transformers and sentencepiece, and writes the same bytes for the same seed. Many
details serve one purpose: the model converts to GGUF exactly, so that llama.cpp and transformers
tokenize every message identically.
"""

import argparse
import csv
import io
import json
import shutil
from pathlib import Path

import sentencepiece
import torch
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

HERE = Path(__file__).parent
TICKETS = HERE / "tickets.csv"
SEED = 20

# The tokenizer.
VOCABULARY = 2_048
PAD, UNKNOWN, BOS, EOS = "<pad>", "<unk>", "<s>", "</s>"
MARKERS = ["<|system|>", "<|user|>", "<|assistant|>"]  # one for each role of a chat

# The network. Widths are multiples of 256, the block of the K-quants, so that none falls back.
HIDDEN = 256
INTERMEDIATE = 768
LAYERS = 2
HEADS = 4
CONTEXT_TOKENS = 512

# The text begins with `bos_token`, which the tokenizer does not add, and every answer ends with
# `eos_token`. The space before a message stands in for the one that the tokenizer does not add:
# a word at the start is then the same token as elsewhere. An answer has none, so that what the
# model generates is the bare intent.
CHAT_TEMPLATE = (
    "{{ bos_token }}"
    "{% for message in messages %}"
    "{% if message['role'] == 'assistant' %}{{ '<|assistant|>' + message['content'] + eos_token }}"
    "{% else %}{{ '<|' + message['role'] + '|> ' }}{{ message['content'] | trim }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


def read_texts() -> list[str]:
    """Collect the texts for the tokenizer: each message, and each occurrence of an intent."""
    with TICKETS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    filled = [row for row in rows if row["message"].strip()]
    return [" " + row["message"].strip() for row in filled] + [row["intent"] for row in filled]


def train_tokenizer(folder: Path) -> None:
    """Train a sentencepiece BPE and save it in both forms: tokenizer.model and tokenizer.json."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(read_texts()),
        model_writer=model,
        model_type="bpe",
        vocab_size=VOCABULARY,
        byte_fallback=True,
        character_coverage=0.9995,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        add_dummy_prefix=False,
        split_digits=True,
        control_symbols=MARKERS,
        pad_id=3,
        pad_piece=PAD,
        unk_id=0,
        unk_piece=UNKNOWN,
        bos_id=1,
        bos_piece=BOS,
        eos_id=2,
        eos_piece=EOS,
        num_threads=1,
        minloglevel=2,
    )
    (folder / "tokenizer.model").write_bytes(model.getvalue())
    settings = {
        "tokenizer_class": "LlamaTokenizer",
        "add_prefix_space": False,
        "add_bos_token": False,
        "add_eos_token": False,
        "bos_token": BOS,
        "eos_token": EOS,
        "unk_token": UNKNOWN,
        "pad_token": PAD,
        "extra_special_tokens": MARKERS,
        "model_max_length": CONTEXT_TOKENS,
        "clean_up_tokenization_spaces": False,
    }
    written = json.dumps(settings, indent=2) + "\n"
    (folder / "tokenizer_config.json").write_text(written)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template = CHAT_TEMPLATE
    tokenizer.save_pretrained(folder)  # adds tokenizer.json and chat_template.jinja
    (folder / "tokenizer_config.json").write_text(written)  # without what saving adds to it


def build_model() -> LlamaForCausalLM:
    """Make the network, with random weights."""
    torch.manual_seed(SEED)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=HIDDEN,
        intermediate_size=INTERMEDIATE,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        max_position_embeddings=CONTEXT_TOKENS,
        tie_word_embeddings=False,
        pad_token_id=3,
        bos_token_id=1,
        eos_token_id=2,
    )
    return LlamaForCausalLM(config)


def main() -> None:
    """Write the folder, replacing what an earlier run left."""
    parser = argparse.ArgumentParser(description="Build the quickstart's model.")
    parser.add_argument("--out", type=Path, default=HERE / "model", help="the folder to write")
    folder: Path = parser.parse_args().out
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    train_tokenizer(folder)
    model = build_model()
    model.save_pretrained(folder)
    print(f"{folder}: {model.num_parameters() / 1e6:.1f} M parameters, {VOCABULARY:,} tokens")


if __name__ == "__main__":
    main()
