"""Makes vLLM inside the training processes read a Hub model at the commit of the plan.

TRL 1.16 gives vLLM the name of the model and no revision, so vLLM would read the newest commit. Its
weights are replaced by the trained ones before each answer; its config and its tokenizer are not.
"""

from typing import Any, Final

from huggingface_hub import snapshot_download

#: What transformers and vLLM read of a repository: weights, configs, tokenizers, custom code.
_READ: Final = ("*.safetensors", "*.json", "*.model", "*.txt", "*.jinja", "*.py")


def pin_model(model: Any, name: str, revision: str) -> str:
    """Name the model after its commit's folder in the cache of the Hub, for vLLM to read.

    Returns that folder. A model that was loaded from another folder keeps its name.
    """
    folder: str = snapshot_download(name, revision=revision, allow_patterns=list(_READ))
    if model.name_or_path == name:
        model.name_or_path = folder
    return folder


def name_base(model: Any, folder: str, name: str) -> None:
    """Name the base of an adapter as the Hub does, not after a folder of the cache."""
    for config in getattr(model, "peft_config", {}).values():
        if config.base_model_name_or_path == folder:
            config.base_model_name_or_path = name
