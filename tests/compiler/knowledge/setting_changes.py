"""Miniatures that a GGUF file reproduces, and the settings in which others differ from them."""

import importlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from benchmarks.families import read_cases
from benchmarks.rehearsals import read_families
from ftc.compiler.knowledge.architectures.architecture import is_convertible
from ftc.compiler.knowledge.exports.converter import find_converter
from ftc.compiler.knowledge.multimodal.wrappers import find_wrapper
from ftc.compiler.knowledge.well_known.models import all_models
from ftc.compiler.rehearse.miniature import shrink
from tests.compiler.knowledge.derived_rows import CASES
from tests.compiler.knowledge.other_settings import LAYERS, changes

__all__ = ["ACTIVATIONS", "list_bases", "list_changes", "read_settings"]

Data = dict[str, Any]

#: The first of each group is tried; the others are its other names, or near to it.
ACTIVATIONS: Final = (
    ("silu", "swish"),
    ("gelu_pytorch_tanh", "gelu", "gelu_new", "gelu_fast", "gelu_python", "gelu_accurate"),
    ("relu",),
    ("relu2",),
)
_NO_TOKENS: Final = dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"))
_VOCABULARY: Final = 512
_WINDOW: Final = 32
_CONTEXT: Final = 64
_BASES: Final = 5
#: Sizes and numbers of experts, whose values follow from one another, and what only training or
#: generation reads.
_UNTRIED: Final = re.compile(
    r".*(_size|_dim|_rank|window|eps|epsilon|_tokens?|_token_id|dropout|initializer|coef|z_loss"
    r"|chunk_size|pretraining_tp|tensor_parallel|output_router_logits|query_pre_attn_scalar"
    r"|.*group.*|n_layer|is_encoder_decoder|.*pdrop|.*logits_to_keep|.*d_conv|.*d_head|.*d_state|.*d_ssm"
    r"|num_attention_heads|mamba_expand|mamba_n_heads|attn_layer_indices|.*loss.*|conv_kernel"
    r"|.*group.*|.*top_?k.*|.*experts_per_tok|moe_k|n_routed_experts|.*_experts|first_k_dense.*"
    r"|time_step|num_hidden_layers|use_cache|return_dict|is_decoder|output_attentions"
    r"|output_hidden_states|use_mamba_kernels)(_.*)?|vocab.*|.*max_position.*|rope_scaling|dtype"
)
_OF_LAYERS: Final = re.compile("layer|interval|step|period|every|freq")
_MANY: Final = 64  # that `changes` tries
_STEP: Final = 3  # and what is tried of a few layers in its place
_SHARES: Final = (0.25, 0.3, 0.5, 0.75, 1.0)
_ROPE: Final = ("rope_theta", "partial_rotary_factor")


@cache
def list_bases() -> dict[str, list[Data]]:
    """Return miniatures of each class that the converter knows, of published configs first."""
    known = [*(case.config for case in (*read_families(), *read_cases()))]
    known += [entry.config for entry in all_models()]
    known += [row["config"] for rows in CASES.values() for row in reversed(rows)]
    found: dict[str, list[Data]] = {}
    for config in known:
        name = (config.get("architectures") or [""])[0]
        if find_wrapper(config) is not None or not is_convertible(name):
            continue
        few = found.setdefault(name, [])
        if len(few) < _BASES and (small := _shrink(config)) is not None and small not in few:
            few.append(small)
    return found


def _shrink(config: Mapping[str, Any]) -> Data | None:
    try:
        small = shrink(config)
    except (KeyError, ValueError, ZeroDivisionError):
        return None
    if small is None:
        return None
    kept = {key: value for key, value in small.items() if key not in ("dtype", "torch_dtype")}
    kept |= {"vocab_size": _VOCABULARY, **_NO_TOKENS}
    if isinstance(kept.get("sliding_window"), int):  # shorter than the tokens that are compared
        kept["sliding_window"] = _WINDOW
    return kept


def list_changes(base: Data) -> Iterator[tuple[str, Any]]:
    """Yield settings that differ from those of a base, each with one other value."""
    converter = find_converter(base["architectures"][0])
    drops_head = converter is not None and converter.drops_head
    seen = set()
    for key, value in (*_of_types(base), *_of_values(base), *_of_rope(base)):
        code = f"{key} {json.dumps(value, sort_keys=True)}"
        is_told = key == "tie_word_embeddings" and drops_head  # by FTC645
        if _UNTRIED.fullmatch(key) is None and code not in seen and not is_told:
            seen.add(code)
            yield key, value


def _of_types(base: Data) -> Iterator[tuple[str, Any]]:
    """Yield values that fit the type of a key, without words that the base does not have.

    Of numbers those of layers alone are tried: 0 of another is no size.
    """
    for key, value in changes(base["model_type"], base):
        is_foreign = isinstance(value, list) and {*map(type, value)} & {str}
        is_number = type(value) is int and not _OF_LAYERS.search(key)
        if not (is_foreign or is_number or isinstance(value, str)):
            yield key, _STEP if value == _MANY else value


def _of_values(base: Data) -> Iterator[tuple[str, Any]]:
    settings = read_settings(base)
    for key, value in {**settings.to_dict(), **base}.items():
        tried: list[Any] = []
        if isinstance(value, bool):
            tried = [not value]
        elif "partial_rotary" in key or key == "rotary_pct":
            tried = [*_SHARES]
        elif isinstance(value, float) and value:
            tried = [value / 2, value * 2]
        elif isinstance(value, int):
            tried = _of_number(key, value, base)
        elif isinstance(value, str) and "act" in key:
            tried = [names[0] for names in ACTIVATIONS]
        elif isinstance(value, list) and value and len(value) == base.get(LAYERS):
            uniform = [[each] * len(value) for each in sorted(set(map(str, value)))]
            tried = [value[1:] + value[:1], value[::-1]]
            tried += uniform if key == "layer_types" else []
        yield from ((key, each) for each in tried if each != value)


def _of_number(key: str, value: int, base: Data) -> list[Any]:
    if "kv_heads" in key or "key_value_heads" in key:
        return [1, 2, base.get("num_attention_heads", value)]
    if "theta" in key or "rotary_emb_base" in key:
        return [value * 2, value / 2]
    return [0, 1, 2] if "shared" in key and "expert" in key else []


def _of_rope(base: Data) -> Iterator[tuple[str, Any]]:
    """Yield types of RoPE scaling, for a class with the same parameters in all layers."""
    settings = read_settings(base)
    said = getattr(settings, "rope_parameters", None)
    if not isinstance(said, dict) or "rope_type" not in said:
        return
    kept = {key: said[key] for key in _ROPE if key in said}
    old = {"original_max_position_embeddings": _CONTEXT}
    yarn = {"rope_type": "yarn", "factor": 4.0, **old}
    bands = {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
    for more in (
        {"rope_type": "linear", "factor": 4.0},
        {"rope_type": "dynamic", "factor": 4.0},
        {"rope_type": "llama3", "factor": 8.0, **bands, **old},
        yarn,
        {**yarn, "truncate": False},
        *({**yarn, "beta_fast": number} for number in (16, 64)),
        *({**yarn, "beta_slow": number} for number in (2, 4)),
    ):
        yield "rope_parameters", {**kept, **more}


def read_settings(base: Mapping[str, Any]) -> Any:
    """Return the settings of a class, with its defaults."""
    given = {k: v for k, v in base.items() if k not in ("model_type", "architectures")}
    return importlib.import_module("transformers").AutoConfig.for_model(
        base["model_type"], **json.loads(json.dumps(given))
    )
