"""A folder with the small files of an image-text model, as a repository has them; no weights."""

import json
from pathlib import Path
from typing import Any, Final

from PIL import Image
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

IMAGE: Final = "<|image_pad|>"
SPECIAL: Final = (
    *("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", IMAGE),
)
TEMPLATE: Final = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}{% if part['type'] == 'image' %}"
    "<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
PROCESSOR: Final = {
    "min_pixels": 3136,
    "max_pixels": 12_845_056,
    "patch_size": 14,
    "temporal_patch_size": 2,
    "merge_size": 2,
}


def make_tokenizer() -> Tokenizer:
    """Return a tokenizer of single bytes with the model's special tokens."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={c: n for n, c in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in SPECIAL])
    return tokenizer


def write_model(folder: Path, **config: Any) -> Path:
    """Write the files of a Qwen2.5-VL with the sizes of its 3B model."""
    folder.mkdir(parents=True)
    tokenizer = make_tokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(
        json.dumps(
            {
                "eos_token": "<|im_end|>",
                "pad_token": "<|endoftext|>",
                "chat_template": TEMPLATE,
                "tokenizer_class": "Qwen2Tokenizer",
            }
        )
    )
    text = {
        "model_type": "qwen2_5_vl_text",
        "hidden_size": 2048,
        "intermediate_size": 11008,
        "num_hidden_layers": 36,
        "num_attention_heads": 16,
        "num_key_value_heads": 2,
        "vocab_size": tokenizer.get_vocab_size(),
        "max_position_embeddings": 32768,
        "tie_word_embeddings": True,
    }
    vision = {
        "depth": 32,
        "hidden_size": 1280,
        "intermediate_size": 3420,
        "num_heads": 16,
        "out_hidden_size": 2048,
        "patch_size": 14,
    }
    whole = {
        "architectures": ["Qwen2_5_VLForConditionalGeneration"],
        "model_type": "qwen2_5_vl",
        "image_token_id": tokenizer.token_to_id(IMAGE),
        "torch_dtype": "bfloat16",
        "text_config": text,
        "vision_config": vision,
        **config,
    }
    (folder / "config.json").write_text(json.dumps(whole))
    (folder / "preprocessor_config.json").write_text(json.dumps(PROCESSOR))
    return folder


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows as lines of JSON."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_pictures(folder: Path, sizes: list[tuple[int, int]]) -> list[dict[str, Any]]:
    """Write an image of each size, and return a question about each."""
    (folder / "images").mkdir(exist_ok=True)
    rows = []
    for number, size in enumerate(sizes):
        name = f"images/{number}.png"
        Image.new("1", size, number % 2).save(folder / name)
        rows.append(
            {"image": name, "question": f"which is picture {number}?", "answer": f"{number}."}
        )
    return rows
