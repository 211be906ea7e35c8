"""Finds the transformers class that loads a model for text generation."""

from pathlib import Path
from typing import Any

from transformers import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING,
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
)


def find_class(source: Path | str, **options: Any) -> Any:
    """Return the Auto class for a folder or a Hub id; `options` go to its `from_pretrained`.

    `AutoModelForCausalLM` loads some multimodal models whole, and only the text model of others.
    `AutoModelForImageTextToText` loads the rest whole, with the vision tower.
    """
    kind = type(AutoConfig.from_pretrained(source, **options))
    causal: Any = MODEL_FOR_CAUSAL_LM_MAPPING
    wrappers: Any = MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
    is_wrapped = kind in wrappers and kind not in causal
    return AutoModelForImageTextToText if is_wrapped else AutoModelForCausalLM
