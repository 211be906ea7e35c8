"""Makes one case for every multimodal class that ftc knows, from the default config of the class.

    python -m benchmarks.wrapped [CLASS ...]      # trains, merges and converts a miniature of each

The sizes are those of transformers' configuration, as no published config.json was read. What a
class cannot do without and its default lacks is in `_NEEDED`. A class that llama.cpp's converter
does not have stops at `convert`, after the merge. The figures are kept in wrapped_results.json.
"""

import argparse
import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from benchmarks.families import Result, run_case, tell_when
from benchmarks.rehearsals import Family
from ftc.compiler.knowledge.architectures.architecture import converted_class, is_convertible
from ftc.compiler.knowledge.exports.converter import find_converter

__all__ = ["RESULTS", "list_wrappers", "make_case"]

RESULTS: Final = Path(__file__).with_name("wrapped_results.json")
#: The rows of the embedding for the tokens of each tokenizer.
_ROWS: Final = {"gemma": 2048, "glm-4": 50_304, "gpt-2": 50_304, "qwen3": 151_936}
_MROPE: Final = {"rope_type": "default", "rope_theta": 10000.0}
_QWEN: Final = {"rope_parameters": {**_MROPE, "mrope_section": [16, 24, 24]}}
_GLM: Final = {
    "rope_parameters": {**_MROPE, "mrope_section": [8, 12, 12], "partial_rotary_factor": 0.5}
}
_OTHER_TOKEN: Final = 7
#: Keys of the text, and under "" of what is around it, by the model type of the class.
_NEEDED: Final[Mapping[str, Mapping[str, Any]]] = {
    "aya_vision": {
        "rotary_pct": 1.0,
        "": {
            "tie_word_embeddings": True,
            "vision_config": {"model_type": "siglip_vision_model", "num_attention_heads": 16},
        },
    },
    "cohere_compass": {
        "rope_parameters": dict.fromkeys(("full_attention", "sliding_attention"), _MROPE)
    },
    "chameleon": {"vocabulary_map": {"<image>": _OTHER_TOKEN}},
    "cohere2_vision": {"rotary_pct": 1.0, "": {"tie_word_embeddings": True}},
    "deepseek_ocr2": {
        "mlp_layer_types": ["dense"] + ["sparse"] * 31,
        "moe_intermediate_size": 896,
        "num_experts_per_tok": 6,
        "n_group": 1,
        "topk_group": 1,
    },
    "emu3": {"": {"vocabulary_map": {"<image>": _OTHER_TOKEN}}},
    "ernie4_5_vl_moe": {
        "head_dim": 128,
        "rope_parameters": {**_MROPE, "mrope_section": [22, 22, 20]},
    },
    "exaone4_5": {
        "num_hidden_layers": 64,
        "layer_types": (["sliding_attention"] * 3 + ["full_attention"]) * 16,
    },
    "glm46v": _GLM,
    "glm4v": _GLM,
    "glm4v_moe": {**_GLM, "head_dim": 128},
    "glm5_next": {
        "linear_head_dim": None,  # repositories have them in a section, which the converter reads
        "linear_num_heads": None,
        "linear_conv_kernel_dim": None,
        "linear_attn_config": {"head_dim": 128, "num_heads": 64, "short_conv_kernel_size": 4},
        "mla_use_nope": True,
    },
    "glm_ocr": {
        "head_dim": 128,
        "rope_parameters": {**_MROPE, "mrope_section": [16, 24, 24], "partial_rotary_factor": 1.0},
    },
    "granite4_vision": {
        "": {
            "deepstack_layer_map": [[-2, 0]],
            "downsample_rate": "1/4",
            "spatial_target_layers": [1],
        }
    },
    "hunyuan_vl": {
        "head_dim": 128,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 10000.0,
            "mrope_section": [16, 16, 16, 16],
        },
    },
    "kimi_k25": {"n_group": 1, "topk_group": 1, "scoring_func": "sigmoid"},  # as published
    "minicpmv4_6": {"architectures": None},  # the converter's class is that of the whole
    "minimax_m3_vl": {
        "architectures": ["MiniMaxM3SparseForCausalLM"],
        "n_shared_experts": 1,
        "layer_types": ["full_attention"] * 3 + ["minimax_m3_sparse"] * 57,
        "mlp_layer_types": ["dense"] * 3 + ["sparse"] * 57,
        "moe_layer_freq": [0] * 3 + [1] * 57,
        "scoring_func": "sigmoid",
        "sparse_attention_config": {
            "sparse_num_index_heads": 4,
            "sparse_index_dim": 128,
            "sparse_block_size": 128,
            "sparse_topk_blocks": 16,
            "sparse_local_block": 1,
        },
    },
    "nemotron_h_omni": {
        "layers_block_type": ["linear_attention", "moe", "full_attention", "moe"],
    },
    "ovis2": {"": {"hidden_size": 4096}},
    "paddleocr_vl": _QWEN,
    "perception_lm": {
        "": {
            "vision_config": {
                "architecture": "vit_tiny_patch16_224",
                "model_type": "timm_wrapper",
                "model_args": {"embed_dim": 192},
            }
        }
    },
    "qwen2_5_omni_thinker": _QWEN,
    "qwen2_5_vl": _QWEN,
    "qwen2_vl": _QWEN,
    "qwen3_omni_moe_thinker": {"head_dim": 128, "num_attention_heads": 32},
    "qwen4_exp": {
        "indexer_n_heads": 4,
        "indexer_kv_heads": 1,
        "indexer_head_dim": 256,
        "indexer_budget": 512,
        "indexer_compress_ratio": 4,
        "rope_parameters": {**_MROPE, "mrope_section": [11, 11, 10], "partial_rotary_factor": 0.25},
    },
    "step3p7": {
        "sliding_window": 512,
        "layer_types": (["full_attention"] + ["sliding_attention"] * 3) * 11 + ["full_attention"],
        "num_key_value_heads": None,  # repositories have the older names, which the converter reads
        "num_attention_groups": 8,
        "n_routed_experts": None,
        "moe_num_experts": 288,
        "num_experts_per_tok": None,
        "moe_top_k": 8,
    },
}
#: The tokenizers without which the converter stops, by the beginning of the class's name.
_TOKENIZERS: Final = {"Glm": "glm-4", "Qwen3_5": "qwen3", "Qwen4": "qwen3"}
_HARDWARE: Final = {"gpu": "B200", "count": 8, "nodes": 8}
_TOKEN_IDS: Final = ("token_id", "token_index")


def list_wrappers() -> Mapping[str, Any]:
    """Return the table of multimodal classes."""
    text = (files("ftc.compiler.knowledge.multimodal") / "wrappers.json").read_text(
        encoding="utf-8"
    )
    table: Mapping[str, Any] = json.loads(text)
    return table


def make_case(name: str) -> Family:
    """Return the case of a class; it exports where llama.cpp's converter has the class."""
    entry = list_wrappers()[name]
    text, kind = entry["text"], entry["model_type"]
    found = converted_class(text, name)
    converter = find_converter(found)
    bpe = converter is None or converter.paths[0] not in ("scores", "equal")
    tokenizer = "gpt-2" if bpe else "gemma"
    tokenizer = next((own for key, own in _TOKENIZERS.items() if found.startswith(key)), tokenizer)
    export = ["Q4_K_M"] if is_convertible(found) else []
    return Family(
        name=name.lower().replace("_", "-"),
        model=f"{kind} of transformers",
        tokenizer=tokenizer,
        spec={"method": "lora", "hardware": _HARDWARE, "export": export},
        config=_config(name, kind, text, rows=_ROWS[tokenizer]),
    )


def _config(name: str, kind: str, text: str, *, rows: int) -> dict[str, Any]:
    """Return the default config of a class, with the tokens of a stand-in's tokenizer."""
    transformers = import_module("transformers")
    config: dict[str, Any] = json.loads(
        transformers.CONFIG_MAPPING[kind]().to_json_string(use_diff=False)
    )
    needed = dict(_NEEDED.get(kind, {}))
    config |= {"architectures": [name], "tie_word_embeddings": False, **needed.pop("", {})}
    inside = config.get("text_config", config)
    if inside is not config and is_convertible(text):
        inside["architectures"] = [text]
    inside |= {"vocab_size": rows, **needed}
    for key in [key for key in needed if needed[key] is None]:
        del inside[key]
    if "vocab_size_per_layer_input" in inside:
        inside["vocab_size_per_layer_input"] = rows
    if "vocab_size" in config:
        config["vocab_size"] = rows
    for section in (config, inside):
        high = [key for key, value in section.items() if _is_beyond(key, value, rows)]
        section.update(dict.fromkeys(high, _OTHER_TOKEN))
    if "pad_token_id" in inside:
        inside["pad_token_id"] = 0
    return config


def _is_beyond(key: str, value: object, rows: int) -> bool:
    """Return whether a key names a token that the stand-in's tokenizer lacks."""
    return key.endswith(_TOKEN_IDS) and type(value) is int and value >= rows


def main() -> None:
    """Run the cases, and print how far each came."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.wrapped",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("classes", nargs="*", metavar="CLASS", help="all, if none is given")
    for name in parser.parse_args().classes or list_wrappers():
        found = run_case(make_case(name), Path(os.environ["FTC_LLAMA_CPP_SDIST"]))
        _keep(name, found)
        print(name, found, flush=True)


def _keep(name: str, one: Result) -> None:
    """Write a result beside those of the other classes, with its date and commit."""
    kept = json.loads(RESULTS.read_bytes()) if RESULTS.is_file() else {}
    said = {key: value for key, value in asdict(one).items() if key != "name"}
    kept[name] = {**said, "seconds": round(one.seconds), "measured": tell_when()}
    RESULTS.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
