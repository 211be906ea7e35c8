"""Gives a chat template the options of data.template_options as its own defaults.

The options then hold wherever the template is rendered: by prepare.py, and later by every program
that reads the trained model's template, such as transformers, llama.cpp, vLLM and Ollama.
A program can still pass another value. Standard library only.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..files import read_json

Option = str | int | float | bool


def set_defaults(template: str, options: Mapping[str, Option]) -> str:
    """Return a template that begins with a default for each option.

    Each line of them ends in a block, after which templates of transformers and llama.cpp leave out
    the line feed (`trim_blocks`): the lines write nothing.
    """
    lines = [
        f"{{%- if {name} is not defined %}}{{% set {name} = {write(value)} %}}{{% endif %}}\n"
        for name, value in options.items()
    ]
    return "".join(lines) + template


def set_default_of(tokenizer: Any, options: Mapping[str, Option]) -> None:
    """Give the options to the chat template of a tokenizer that transformers loaded."""
    tokenizer.chat_template = set_defaults(tokenizer.get_chat_template(), options)


def set_defaults_in(folder: Path, options: Mapping[str, Option]) -> None:
    """Give the options to the chat template of a model's folder: to its `chat_template.jinja`."""
    path = folder / "chat_template.jinja"
    if path.is_file():
        template = path.read_text(encoding="utf-8")
    else:
        config = read_json(folder / "tokenizer_config.json")
        template = config["chat_template"]
        if not isinstance(template, str):  # several, by name
            template = next(each["template"] for each in template if each["name"] == "default")
    path.write_text(set_defaults(template, options), encoding="utf-8")


def write(value: Option) -> str:
    """Return a value as Jinja reads it."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
