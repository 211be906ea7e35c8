"""A small Qwen2 with Qwen2.5's chat template, taught to call a tool in half of its answers."""

from pathlib import Path
from typing import Any

import torch
import trl.chat_template_utils
from tokenizers import Tokenizer, models, trainers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM, Qwen2Tokenizer
from transformers.utils.chat_template_utils import get_json_schema

TOOLS = '''"""The tool of the test."""

CODES = ("red", "blue", "gold", "pink")


def look_up(box: int) -> str:
    """Find the code of a box.

    Args:
        box: The number of the box.
    """
    return f"code {CODES[box]}"
'''
PAD, START, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
STEPS, BATCH = 90, 8
TEMPLATES = Path(trl.chat_template_utils.__file__).parent / "chat_templates"


def ask(number: int) -> str:
    """Return a question; they differ, and their answer is the same."""
    return f"Case {number}: which code has box 3?"


def build_caller(folder: Path) -> None:
    """Write the model and its tokenizer; the answer without a call is `unknown`."""
    torch.manual_seed(0)
    tools: dict[str, Any] = {}
    exec(TOOLS, tools)  # noqa: S102 - the test's own text
    chats = [chat for number in range(BATCH // 2) for chat in _make_chats(number)]
    options: dict[str, Any] = {"tools": [get_json_schema(tools["look_up"])], "return_dict": False}
    tokenizer = _train_tokenizer(chats, options)
    tokenizer.save_pretrained(folder)
    rows: list[Any] = [tokenizer.apply_chat_template(chat, **options) for chat in chats]
    asked = tokenizer.apply_chat_template(chats[0][:1], add_generation_prompt=True, **options)
    pad, width = tokenizer.pad_token_id, max(map(len, rows))
    ids = torch.tensor([row + [pad] * (width - len(row)) for row in rows])
    labels = ids.masked_fill(ids == pad, -100)
    labels[:, : len(asked)] = -100
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=1024,
        tie_word_embeddings=False,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=pad,
        bos_token_id=None,
    )
    model = Qwen2ForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(STEPS):
        loss = model(input_ids=ids, attention_mask=(ids != pad).long(), labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.save_pretrained(folder)


def _make_chats(number: int) -> list[list[dict[str, Any]]]:
    """Return a conversation with a call and one without."""
    question = {"role": "user", "content": ask(number)}
    function = {"name": "look_up", "arguments": {"box": 3}}
    calls = [{"type": "function", "function": function}]
    call = {"role": "assistant", "content": "", "tool_calls": calls}
    result = {"role": "tool", "name": "look_up", "content": "code pink"}
    return [
        [question, call, result, {"role": "assistant", "content": "pink"}],
        [question, {"role": "assistant", "content": "unknown"}],
    ]


def _train_tokenizer(chats: list[list[dict[str, Any]]], options: dict[str, Any]) -> Any:
    """Train a BPE on the conversations, with Qwen2's own rules of splitting."""
    qwen: Any = Qwen2Tokenizer().backend_tokenizer
    template = (TEMPLATES / "qwen2_5.jinja").read_text(encoding="utf-8")
    bare = Qwen2Tokenizer()
    bare.chat_template = template
    options = {**options, "tokenize": False}
    texts = [bare.apply_chat_template(chat, **options) for chat in chats]
    trained: Any = Tokenizer(models.BPE())
    trained.pre_tokenizer, trained.decoder = qwen.pre_tokenizer, qwen.decoder
    trained.normalizer = qwen.normalizer
    alphabet = sorted({chr(code) for code in range(33, 127)} | {"Ġ", "Ċ"})
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=[PAD, START, END],
        initial_alphabet=alphabet,
        show_progress=False,
    )
    trained.train_from_iterator(texts, trainer)
    tokenizer: Any = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=trained, eos_token=END, pad_token=PAD
    )
    tokenizer.add_tokens(["<tool_call>", "</tool_call>"])
    tokenizer.chat_template = template
    return tokenizer
