"""A miniature of LLaVA: every image is a square of four tokens, each byte of a text another one."""

from pathlib import Path
from typing import Any, Final

import torch
from PIL import Image
from tokenizers import Tokenizer, decoders, models
from transformers import (
    CLIPImageProcessorPil,
    CLIPVisionConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
)

from ftc.runtime.vision.image_tokens import Fixed, to_settings

TOKEN: Final = "<image>"
RULE: Final = to_settings(Fixed(side=28, patch=14, tokens=4, token=TOKEN))
TEMPLATE: Final = (
    "{{ bos_token }}{% for m in messages %}{{ m.role }}: {% for part in m.content %}"
    "{% if part.type == 'image' %}<image>{% else %}{{ part.text }}{% endif %}{% endfor %}\n"
    "{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"
)
_SPECIAL: Final = ("<unk>", "<s>", "</s>")


def make_byte_tokenizer(template: str, *added: str) -> Any:
    """Return a tokenizer that has a token for each byte, as `tui/tiny_gguf.py` has."""
    tokens = [*_SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256))]
    vocabulary = {token: place for place, token in enumerate(tokens)}
    bytes_only = models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>", byte_fallback=True)
    tokenizer = Tokenizer(bytes_only)
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens([*_SPECIAL, *added])
    make: Any = PreTrainedTokenizerFast
    found = make(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>")
    found.chat_template = template
    return found


def write_llava(folder: Path) -> Path:
    """Write the model, its tokenizer and its processor."""
    torch.manual_seed(0)
    tower = CLIPVisionConfig(
        hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        image_size=28, patch_size=14, projection_dim=16,
    )  # fmt: skip
    text = LlamaConfig(
        vocab_size=260, hidden_size=16, intermediate_size=32, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=512,
    )  # fmt: skip
    config = LlavaConfig(
        vision_config=tower, text_config=text, image_token_index=259, image_seq_length=4
    )
    model: Any = LlavaForConditionalGeneration(config)
    model.generation_config.eos_token_id = 2
    model.save_pretrained(folder)
    squares: Any = CLIPImageProcessorPil(
        size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28}
    )
    make: Any = LlavaProcessor
    processor = make(
        image_processor=squares,
        tokenizer=make_byte_tokenizer(TEMPLATE, TOKEN),
        patch_size=14,
        vision_feature_select_strategy="default",
        image_token=TOKEN,
        num_additional_image_tokens=1,
        chat_template=TEMPLATE,
    )
    processor.save_pretrained(folder)
    return folder


def write_images(folder: Path, count: int) -> list[dict[str, Any]]:
    """Write images of different colours; return their references."""
    folder.mkdir(parents=True, exist_ok=True)
    references = []
    for n in range(count):
        size = (400 + 8 * n, 40)
        Image.new("RGB", size, (40 * n % 256, 20 * n % 256, 200)).save(folder / f"{n}.png")
        references.append({"path": f"{n}.png", "width": size[0], "height": size[1]})
    return references
