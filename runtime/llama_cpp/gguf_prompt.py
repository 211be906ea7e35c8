"""Turns a question into the tokens of a GGUF file, with the chat template in that file."""

from typing import Any

import llama_cpp
from llama_cpp.llama_chat_format import Jinja2ChatFormatter


def tokenize(llm: Any, prompt: str | list[Any]) -> list[int]:
    """Return the token ids of a text, or of messages for the chat template."""
    if isinstance(prompt, str):
        return list(llm.tokenize(prompt.encode(), add_bos=True, special=True))
    vocabulary = llama_cpp.llama_model_get_vocab(llm.model)
    begin, end = (
        llama_cpp.llama_vocab_get_text(vocabulary, token).decode() if token >= 0 else ""
        for token in (llm.token_bos(), llm.token_eos())
    )
    template = llm.metadata["tokenizer.chat_template"]
    formatter = Jinja2ChatFormatter(template=template, eos_token=end, bos_token=begin)
    text = formatter(messages=prompt).prompt
    return list(llm.tokenize(text.encode(), add_bos=False, special=True))
