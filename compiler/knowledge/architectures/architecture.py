"""The shape of a causal language model: its parameter counts, from its `config.json` alone."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final

from ftc.compiler.knowledge.architectures.derived import (
    WIDTHS,
    derived_table,
    encoder_table,
    is_recurrent,
    read_entry,
)
from ftc.compiler.knowledge.architectures.derived_entry import Entry, EntryConfig
from ftc.compiler.knowledge.architectures.shape import LayerKind, LinearShape, Shape
from ftc.compiler.knowledge.architectures.windows import read_windows
from ftc.compiler.knowledge.tables import read_table

__all__ = [
    "LayerKind",
    "LinearShape",
    "Shape",
    "class_of_type",
    "converted_class",
    "count_adapter_parameters",
    "embedding_width",
    "find_low_size",
    "find_unfit_keys",
    "has_entry",
    "is_convertible",
    "is_respelt",
    "keeps_packed_rows_apart",
    "names_no_method",
    "read_quantization",
    "read_shape",
    "repeats_keys",
    "side_keys",
    "spell_setting",
    "supports_sdpa",
]


#: What bitsandbytes wrote before there were methods.
_SWITCHES: Final = frozenset({"load_in_4bit", "load_in_8bit"})
#: Keys that a class cannot have 0 of.
_SIZES: Final = frozenset(
    {*WIDTHS, "moe_intermediate_size", "num_key_value_heads", "head_dim", "max_position_embeddings"}
)


def read_quantization(config: Mapping[str, object]) -> str | None:
    """Return the quantization method of the weights according to a `config.json`, or None.

    MLX writes no method, but only numbers under the key `quantization`. Old versions of
    bitsandbytes wrote none.
    """
    said = config.get("quantization_config") or config.get("compression_config")
    if isinstance(said, dict) and said.get("quant_method") is not None:
        return str(said["quant_method"])
    if isinstance(said, dict) and any(said.get(key) for key in _SWITCHES):
        return "bitsandbytes"
    own = config.get("quantization")
    if isinstance(own, dict) and "bits" in own:
        return "mlx"
    is_off = not isinstance(said, dict) or not said or not _SWITCHES.isdisjoint(said)
    return None if is_off else "unknown"


def names_no_method(config: Mapping[str, object]) -> bool:
    """Return whether a config has a `quantization_config` that names no quantization method.

    Some programs write an empty one, or one whose switches are off. transformers refuses it.
    """
    only = {"quantization_config": config.get("quantization_config")}
    return only["quantization_config"] is not None and read_quantization(only) is None


def read_shape(config: Mapping[str, object]) -> Shape | None:
    """Apply the table's formula to a `config.json`; None if no entry describes this model.

    A missing key takes the default of that class's configuration in transformers. The result is
    None if the formula does not apply (a variant of the class, a size that is not a positive
    integer).
    """
    shape = _read(config)
    if shape is None:
        return None
    tokens, layers = read_windows(shape, config)
    return replace(shape, window_tokens=tokens, window_layers=layers)


def _read(config: Mapping[str, object]) -> Shape | None:
    name = _name(config)
    return None if name is None else read_entry(name, derived_table()[name], config)


def find_unfit_keys(config: Mapping[str, object]) -> tuple[str, ...]:
    """Return the keys of a known class's config that each prevent computing its shape.

    Without such a key, the default of the class applies, and the sizes are consistent. A key that
    selects another variant of the class is not among them.
    """
    name = _name(config)
    if name is None or read_shape(config) is not None:
        return ()
    variants = {"architectures", "model_type", *derived_table()[name]["requires"]}
    others = {key: {k: v for k, v in config.items() if k != key} for key in config}
    return tuple(
        key for key, rest in others.items() if key not in variants and read_shape(rest) is not None
    )


def find_low_size(config: Mapping[str, object]) -> str | None:
    """Return the first key of a config of a known class that is a size below one, or None.

    The size is in the way of the class's formula. A 0 is a size only under some keys: there are
    classes without experts, or without layers of a kind.
    """
    low = {
        key: value
        for key, value in config.items()
        if type(value) is int and (value < 0 or (value == 0 and key in _SIZES))
    }
    rest = {key: value for key, value in config.items() if key not in low}
    if not low or read_shape(rest) is None:
        return None
    return next(
        (key for key, value in low.items() if read_shape({**rest, key: value}) is None), None
    )


def class_of_type(model_type: object) -> str | None:
    """Return the class of a `model_type`; None if the table does not have it."""
    table = derived_table().items()
    return next((name for name, entry in table if entry["model_type"] == model_type), None)


def side_keys(architecture: str, module: str) -> tuple[str, str]:
    """Return the config keys that directly give a linear module's input and output, or ""."""
    entry = _entry(architecture)
    rows = () if entry is None else entry["layer"]
    sides = [sides for name, sides, _ in rows if f".{name}".endswith(f".{module}.weight")]
    if entry is None or not sides:
        return "", ""
    out, into = sides[0].split(" x ")[:2] if len(sides) == 1 else ("", "")
    keys = (out, into) if entry.get("transposed") else (into, out)
    return keys[0] if keys[0].isidentifier() else "", keys[1] if keys[1].isidentifier() else ""


def embedding_width(architecture: str, config: Mapping[str, object]) -> tuple[str, int] | None:
    """Return the config key and the value of the width of the token embedding.

    Some classes project the embedding to the hidden size. None if no table has the class.
    """
    entry = _entry(architecture)
    rows = () if entry is None else [row for row in entry["model"] if row[0] == entry["embedding"]]
    if entry is None or not rows:
        return None
    sides = EntryConfig(entry, config).sides(rows[0][1])
    return None if sides is None else (rows[0][1].split(" x ")[-1], sides[-1])


def spell_setting(architecture: str, setting: str, config: Mapping[str, object]) -> str:
    """Return a setting in the spelling of this config, or else of its class."""
    entry = _entry(architecture)
    if entry is None or setting in config:
        return setting
    read = EntryConfig(entry, config)
    found = read.path(setting)[-1]
    return found if found != setting else entry["aliases"].get(setting, setting)


def count_adapter_parameters(shape: Shape, targets: Collection[str], rank: int) -> int:
    """Count the parameters of a LoRA adapter: rank x (in + out) per module (arXiv 2106.09685)."""
    return sum(
        rank * (linear.sides or linear.count * (linear.in_features + linear.out_features))
        for name, linear in shape.linear_shapes.items()
        if any(name == target or name.endswith(f".{target}") for target in targets)
    )


def is_convertible(architecture: str) -> bool:
    """Return whether the converter of the pinned llama.cpp supports this architecture."""
    return architecture in _convertible()


def as_loaded(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a config with the class of its `model_type`, which transformers loads.

    It is unchanged if one of the two is not in the table, or if code of the repository may load the
    named class.
    """
    names, own = config.get("architectures"), class_of_type(config.get("model_type"))
    first = names[0] if isinstance(names, list) and names else None
    known = isinstance(first, str) and first in derived_table()
    if own is None or not known or isinstance(config.get("auto_map"), dict):
        return config
    return {**config, "architectures": [own]}


def named_in_vain(config: Mapping[str, object], loaded: str) -> str:
    """Return the class that a config names if `loaded` reads other tensors in its layers, or "".

    transformers loads the class of `model_type`; tensors that the two do not share are dropped or
    newly initialised.
    """
    names = config.get("architectures")
    first = names[0] if isinstance(names, list) and names else None
    if not isinstance(first, str) or loaded not in derived_table():
        return ""
    entries = derived_table()[loaded], derived_table().get(first, derived_table()[loaded])
    read, held = (
        {row[0] for row in entry["layer"] if row[0].endswith(".weight")} for entry in entries
    )
    return "" if read == held else first  # biases depend on settings


def is_diffusion(architecture: object) -> bool:
    """Return whether the pinned llama.cpp runs a class as a text diffusion model."""
    return architecture in read_table(__name__, "gguf_architectures.json")["diffusion"]


def is_respelt(written: object, own: str | None) -> bool:
    """Return whether a config.json names the class of its `model_type` by an older spelling.

    Code in a repository is often older than the class in transformers, which loads the model by its
    `model_type`: `Ernie4_5_ForCausalLM`, `PhiMoEForCausalLM`. The converter must know it too.
    """
    if not isinstance(written, str) or own is None:
        return False
    alike = _fold(written) == _fold(own)
    return alike and (is_convertible(written) or not is_convertible(own))


def converted_class(architecture: str, wrapper: str | None) -> str:
    """Return the class name that the converter looks up: the text model's, or the wrapper's.

    The converter registers some classes under an older spelling, such as `PhiMoEForCausalLM`.
    """
    names = (architecture, wrapper or architecture)
    known = next((name for name in names if is_convertible(name)), None)
    spelt = (_spellings().get(_fold(name)) for name in names)
    return known or next(filter(None, spelt), architecture)


def supports_sdpa(architecture: str) -> bool:
    """Return whether the pinned transformers supports PyTorch's SDPA for this class.

    An architecture that is in no table is assumed to support it, as most do.
    """
    entry = _entry(architecture)
    return entry is None or entry.get("sdpa", True)


def repeats_keys(shape: Shape) -> bool:
    """Return whether the class repeats shared keys and values for SDPA, or sets `enable_gqa`.

    Falcon leaves a single key head to be broadcast. Without `enable_gqa`, no fused kernel of torch
    2.13 accepts different numbers of heads, on GPU or CPU (`check_batch_size_and_num_heads_dense`,
    sdp_utils_cpp.h). SDPA then falls back to plain operations, which store the scores.
    """
    entry = derived_table().get(shape.architecture)
    return entry is None or shape.kv_heads > 1 or entry.get("repeats_keys", True)


#: Multimodal classes that mix packed rows, although their language model alone keeps them apart:
#: measured on miniatures. Those of three positions a token take the position ids of text for these.
_MIXING: Final = frozenset(
    {
        "Glm46VForConditionalGeneration",
        "Glm4vForConditionalGeneration",
        "Glm4vMoeForConditionalGeneration",
        "HunYuanVLForConditionalGeneration",
        "PaddleOCRVLForConditionalGeneration",
        "PaliGemmaForConditionalGeneration",
        "Qwen2VLForConditionalGeneration",
        "Qwen2_5OmniThinkerForConditionalGeneration",
        "Qwen2_5_VLForConditionalGeneration",
    }
)


def has_entry(architecture: str) -> bool:
    """Return whether the table has the class, regardless of the sizes in a config."""
    return architecture in derived_table()


def keeps_packed_rows_apart(architecture: str, wrapper: str | None = None) -> bool | None:
    """Return whether packed rows do not attend to each other, given only their position ids.

    For most classes the pinned transformers makes a block mask from the position ids. Some classes
    do not pass them on, and a layer that carries a state from token to token cannot read them. None
    for an architecture that is in no table. `wrapper` is the multimodal class around it.
    """
    if is_recurrent(architecture) or wrapper in _MIXING:
        return False
    entry = derived_table().get(architecture)
    return None if entry is None else entry.get("packs", True)


def _entry(architecture: str) -> Entry | None:
    """Return the table entry of a causal class or an encoder; None if there is none."""
    return derived_table().get(architecture) or encoder_table().get(architecture)


def _fold(name: str) -> str:
    return name.replace("_", "").casefold()


@cache
def _spellings() -> Mapping[str, str]:
    """Return the classes of the converter by their names without case and underscores."""
    return {_fold(name): name for name in _convertible()}


@cache
def _convertible() -> frozenset[str]:
    return frozenset(read_table(__name__, "gguf_architectures.json")["architectures"])


def _name(config: Mapping[str, object]) -> str | None:
    """Return the name of the entry: the first of `architectures`, or the class of `model_type`."""
    architectures, own = config.get("architectures"), class_of_type(config.get("model_type"))
    if isinstance(architectures, list) and architectures:
        first = architectures[0]
        known = isinstance(first, str) and first in derived_table()
        return first if known else own if is_respelt(first, own) else None
    return own
