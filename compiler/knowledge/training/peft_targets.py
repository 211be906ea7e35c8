"""The LoRA targets that PEFT replaces by others, and those without an effect."""

from typing import Final

from ftc.compiler.knowledge.architectures.derived import derived_table, linear_keys

__all__ = ["is_bypassed", "is_redirected", "is_unlearned"]

_STATE_SPACES: Final = frozenset(
    {
        *("bamba", "falcon_h1", "falcon_mamba", "granitemoehybrid", "jamba"),
        *("mamba", "mamba2", "nemotron_h"),
    }
)
#: Model types whose targets PEFT rewrites, because their experts were linear modules before
#: transformers 5 (peft's transformers_weight_conversion.py, `_convert_peft_config_moe`).
_REWRITTEN: Final = frozenset(
    {
        *("afmoe", "cohere2_moe", "deepseek_v2", "deepseek_v3", "deepseek_v32", "dots1"),
        *("ernie4_5_moe", "exaone_moe", "glm4_moe", "glm4_moe_lite", "glm_moe_dsa"),
        *("hunyuan_v1_moe", "mellum", "minimax_m2", "mixtral", "olmoe", "qwen3_moe"),
        *("qwen3_next", "solar_open", "beam", "flex_olmo", "longcat_flash", "minimax"),
    }
)
_OF_EXPERTS: Final = frozenset({"gate", "gate_proj", "up_proj", "down_proj"})


def is_bypassed(architecture: str, linear: str) -> bool:
    """Return whether an adapter on this module of a state space would be bypassed.

    The fast kernels, and Jamba's code, read these weights without calling the module. For five of
    the model types, PEFT rejects an adapter on `out_proj` (`_check_lora_target_modules_mamba`).
    """
    entry = derived_table().get(architecture)
    mamba = entry is not None and entry["model_type"] in _STATE_SPACES
    return mamba and linear.rpartition(".")[2] in ("out_proj", "x_proj", "dt_proj")


def is_unlearned(architecture: str, linear: str) -> bool:
    """Return whether this module runs without gradients, so that an adapter on it never changes.

    Examples are the indexers of sparse attention, which choose the tokens that a query reads.
    """
    entry = derived_table().get(architecture)
    if entry is None or "unlearned" not in entry:
        return False
    keys = linear_keys(entry)
    return linear in {keys[name] for name in entry["unlearned"]}


def is_redirected(model_type: str, linear: str | None = None) -> bool:
    """Return whether PEFT replaces a target with this name by one of the experts' tensors.

    Dense layers and shared experts have modules with the same names, which then get no adapter.
    Without a name, return whether PEFT rewrites a pattern into the last parts of the matching
    names.
    """
    last = None if linear is None else linear.rpartition(".")[2]
    return model_type in _REWRITTEN and (last is None or last in _OF_EXPERTS)
