"""The markers of turns in chat formats, and the tokenizers that have them as single tokens.

Names of formats and families are those of `models.json`.
"""

from collections.abc import Mapping
from typing import Final

from ftc.compiler.knowledge.well_known.models import Model

_SPEAKERS: Final = ("<|user|>", "<|assistant|>", "<|system|>")
_FORMATS: Final[Mapping[str, tuple[str, ...]]] = {
    "chatml": ("<|im_start|>", "<|im_end|>"),
    "cohere": (
        *("<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>", "<|SYSTEM_TOKEN|>"),
        *("<|USER_TOKEN|>", "<|CHATBOT_TOKEN|>"),
    ),
    "deepseek": ("<\uff5cUser\uff5c>", "<\uff5cAssistant\uff5c>"),
    "ernie": ("<|begin_of_sentence|>", "<|end_of_sentence|>"),
    "apertus": (
        *("<|system_start|>", "<|system_end|>", "<|developer_start|>", "<|developer_end|>"),
        *("<|user_start|>", "<|user_end|>", "<|assistant_start|>", "<|assistant_end|>"),
    ),
    "exaone": ("[|system|]", "[|user|]", "[|assistant|]", "[|endofturn|]"),
    "falcon3": _SPEAKERS,
    "gemma": ("<start_of_turn>", "<end_of_turn>"),
    "gemma4": ("<|turn>", "<turn|>"),
    "glm4": (*_SPEAKERS, "<|observation|>"),
    "granite": ("<|start_of_role|>", "<|end_of_role|>"),
    "harmony": ("<|start|>", "<|message|>", "<|channel|>", "<|end|>", "<|return|>"),
    "hunyuan": ("<\uff5chy_User\uff5c>", "<\uff5chy_Assistant\uff5c>"),
    "kimi": ("<|im_user|>", "<|im_assistant|>", "<|im_system|>", "<|im_middle|>", "<|im_end|>"),
    "llama2": ("[INST]", "[/INST]"),
    "llama3": ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>"),
    "llama4": ("<|header_start|>", "<|header_end|>", "<|eot|>"),
    "minimax": ("]~b]", "[e~["),
    "mistral": ("[INST]", "[/INST]"),
    "phi3": (*_SPEAKERS, "<|end|>"),
    "phi4": ("<|im_start|>", "<|im_sep|>", "<|im_end|>"),
    "phi4-mini": (*_SPEAKERS, "<|end|>"),
    "seed": ("<seed:bos>", "<seed:eos>"),
    "solar": ("<|begin|>", "<|content|>", "<|end|>"),
    "tulu": _SPEAKERS,
    "zephyr": _SPEAKERS,
}
#: The formats whose markers are tokens of a family, even if a model has no chat template.
_FAMILIES: Final[Mapping[str, tuple[str, ...]]] = {
    "cl100k": ("phi4",),
    "cohere": ("cohere",),
    "croissant": ("chatml",),
    "eurollm": ("chatml",),
    "gemma": ("gemma",),
    "gemma3": ("gemma",),
    "glm4": ("glm4",),
    "lfm2": ("chatml",),
    "llama3": ("llama3",),
    "mistral": ("mistral",),
    "o200k": ("phi4-mini", "harmony"),
    "qwen2": ("chatml",),
    "qwen3.5": ("chatml",),
    "salamandra": ("chatml",),
    "smollm": ("chatml",),
    "tekken": ("mistral",),
    "yi": ("chatml",),
}


def written_markers(model: Model) -> frozenset[str]:
    """Return the markers that the model's chat template writes; none without a template."""
    return frozenset(_FORMATS.get(model.chat_template, ()))


def known_markers(model: Model) -> frozenset[str]:
    """Return all markers with a meaning for a model: those of its format and its tokenizer."""
    formats = (model.chat_template, *_FAMILIES.get(model.tokenizer, ()))
    return frozenset(marker for name in formats for marker in _FORMATS.get(name, ()))
