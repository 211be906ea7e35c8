"""The model's `config.json`: its architecture, context, dtype and quantization."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from ftc.compiler.knowledge.architectures.architecture import (
    Shape,
    as_loaded,
    find_low_size,
    is_diffusion,
    named_in_vain,
    names_no_method,
    read_quantization,
)
from ftc.compiler.knowledge.architectures.causal_types import (
    has_causal_class,
    reads_ahead,
    reads_tokens,
)
from ftc.compiler.knowledge.architectures.derived import derived_table, find_zero
from ftc.compiler.knowledge.architectures.dtypes import Dtype, dtype_named, said_dtype
from ftc.compiler.knowledge.architectures.encoders import read_headed
from ftc.compiler.knowledge.multimodal.wrappers import (
    Wrapper,
    find_wrapper,
    text_config,
    wrapper_named,
)
from ftc.compiler.knowledge.objectives import Head
from ftc.compiler.resolve import explanations
from ftc.compiler.resolve.model.no_causal import has_own_tower, not_causal
from ftc.compiler.resolve.model.rope import find_rope_fault
from ftc.compiler.resolve.model.sections import (
    find_activation_fault,
    find_code_fault,
    find_dtype_fault,
    find_layers_fault,
    find_padding_fault,
    find_section_fault,
    find_stopping_fault,
    find_type_fault,
    list_parts,
    value_fault,
)
from ftc.compiler.resolve.model.similar import find_converted, find_original
from ftc.compiler.resolve.model.weight_formats import find_format, list_files, list_foreign
from ftc.spec.findings.finding import Finding
from ftc.spec.findings.quote import quote
from ftc.spec.message import Message

CONFIG_FILE: Final = "config.json"
#: NVIDIA's ModelOpt describes its quantization here, often not in config.json.
QUANTIZED_FILE: Final = "hf_quant_config.json"
#: diffusers describes a pipeline of several models here.
_PIPELINE_FILE: Final = "model_index.json"
#: Meta's and Mistral's own formats have this file instead of config.json.
PARAMS_FILE: Final = "params.json"
#: PEFT and MLX describe an adapter here; transformers loads it with the model beside it.
_ADAPTER_FILE: Final = "adapter_config.json"
_SIZES: Final = (
    *("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"),  # of every model
)
_OTHER_SIZES: Final = (
    *("intermediate_size", "num_key_value_heads", "head_dim", "max_position_embeddings"),
)
_CONTEXT_KEYS: Final = (
    *("max_position_embeddings", "n_positions", "n_ctx", "seq_length", "max_seq_len"),
    *("max_sequence_length", "model_max_length", "context_length"),
)
_CAUSAL: Final = ("ForCausalLM", "LMHeadModel")
_NUMBER: Final = "__float__"
_NUMBERS: Final = {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}
#: What each config is read for, in this order.
_CHECKS: Final = (
    *(find_type_fault, find_section_fault, find_dtype_fault, find_layers_fault, find_rope_fault),
    *(find_padding_fault, find_activation_fault, find_stopping_fault, find_code_fault),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """A readable `config.json` of a causal language model; `dtype` is None where it says none.

    Of a multimodal model all fields describe its language model, and `data` is its `text_config`;
    `wrapper` is the class that `config.json` names, `text_prefix` the path of the language model in
    what transformers loads, and `keeps_tower` says whether the rest of the weights is loaded too.
    `whole` is then all of config.json.
    """

    data: Mapping[str, Any]
    sha256: str
    architecture: str
    model_type: str
    shape: Shape | None
    context_tokens: int | None
    embedding_rows: int
    dtype: Dtype | None
    quantized: str | None
    custom_code: bool
    wrapper: str | None = None
    text_prefix: str = ""
    keeps_tower: bool = False
    whole: Mapping[str, Any] = field(default_factory=dict)


def read_config(folder: Path, name: str, *, head: Head = "tokens") -> Config | Finding:
    """Read the folder's config; `name` is what messages call the model.

    Where `head` is `vectors`, only the vectors of the tokens are used: an encoder will do, and a
    causal model is loaded without its head. `relevance` is the one score of an encoder.
    """
    config = _read_config(folder, name, head)
    if isinstance(config, Finding) or not (folder / QUANTIZED_FILE).is_file():
        return config
    return replace(config, quantized="modelopt")  # whatever method the original had


def _read_config(folder: Path, name: str, head: Head) -> Config | Finding:
    path = folder / CONFIG_FILE
    if not path.is_file():
        return _absent(folder, name)
    if (folder / _ADAPTER_FILE).is_file():
        return explanations.ADAPTER.finding(message="beside", help="beside", name=name)
    text = path.read_bytes()
    try:
        data = parse(text.decode("utf-8"))
    except (ValueError, RecursionError):
        return _broken(name, "not_json")
    if not isinstance(data, dict):
        return _broken(name, "no_object")
    if not isinstance(kind := data.get("model_type"), str | None):
        return value_fault(name, "model_type", kind, Message("phrase.text"))
    names = data.get("architectures")
    if isinstance(names, list) and not all(isinstance(each, str) for each in names):
        del data["architectures"]  # transformers then looks at the type alone
    sha256 = hashlib.sha256(text).hexdigest()
    wrapper = find_wrapper(data)
    if wrapper is None and (empty := _without_text(data)) is not None:
        return explanations.BROKEN_CONFIG.finding(
            message="no_text_config",
            help="no_text_config",
            name=name,
            architecture=empty.architecture,
        )
    inside = None if wrapper is None else text_config(data, wrapper)
    if wrapper is not None and (fault := _misnamed(data, wrapper, name)) is not None:
        return fault
    if wrapper is not None and (fault := find_fault(data, name, flat=wrapper.flat)) is not None:
        return fault
    if names_no_method(data):
        return _no_method(name)
    if wrapper is None or inside is None:
        return _plain(data, sha256, name, head=head)
    config = _config(inside, sha256, name)
    if isinstance(config, Finding):
        return config
    return replace(
        config,
        wrapper=wrapper.architecture,
        model_type=wrapper.model_type,
        text_prefix=wrapper.prefix,
        keeps_tower=wrapper.keeps_tower,
        custom_code=False,
        whole=data,
    )


def parse(text: str) -> Any:
    """Return what a `config.json` holds. Raises ValueError or RecursionError for no JSON.

    transformers writes numbers that JSON lacks as objects: `{"__float__": "Infinity"}`.
    """

    def read(held: dict[str, Any]) -> Any:
        number = held.get(_NUMBER) if len(held) == 1 else None
        return _NUMBERS.get(number, held) if isinstance(number, str) else held

    return json.loads(text, object_hook=read)


def _plain(data: Mapping[str, Any], sha256: str, name: str, *, head: Head) -> Config | Finding:
    """Return the config of a model that is not a wrapper.

    The language model of some wrappers has no class that loads it by itself.
    """
    config = _config(as_loaded(data), sha256, name, head=head)
    if isinstance(config, Finding):
        return config
    if wrapper_named(config.architecture) is not None or _has_no_class(config.shape, head):
        return not_causal(data, name, head)
    if config.shape is None or isinstance(data.get("auto_map"), dict):
        return config
    if named := named_in_vain(data, config.architecture):
        return explanations.BROKEN_CONFIG.finding(
            message="two_classes",
            help="two_classes",
            name=name,
            named=named,
            kind=config.model_type,
            architecture=config.architecture,
        )
    return _misnamed(data, config.shape, name) or config


def _has_no_class(shape: Shape | None, head: Head) -> bool:
    """Return whether transformers has a type only as a multimodal model's language model."""
    return head == "tokens" and shape is not None and not has_causal_class(shape.model_type)


def _without_text(data: Mapping[str, Any]) -> Wrapper | None:
    """Return the known wrapper whose language model a config does not describe in a section."""
    names = data.get("architectures")
    first = names[0] if isinstance(names, list) and names and isinstance(names[0], str) else None
    known = wrapper_named(first)
    return known if known is not None and known.has_type(data.get("model_type")) else None


def _section(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the section with a vocabulary, as custom code has it: `text_config`, `llm_config`."""
    sections = (v for k, v in data.items() if k.endswith("_config") and isinstance(v, dict))
    return next((each for each in sections if "vocab_size" in each), {})


def _misnamed(data: Mapping[str, Any], known: Shape | Wrapper, name: str) -> Finding | None:
    """Return the finding about a missing `model_type`, or one that does not match the class."""
    kind = data.get("model_type")
    own = known.has_type(kind) if isinstance(known, Wrapper) else kind == known.model_type
    if kind is None:
        return explanations.BROKEN_CONFIG.finding(
            message="no_type", help="untyped", name=name, known=known.model_type
        )
    if not isinstance(kind, str) or own or has_causal_class(kind):
        return None
    if find_wrapper({**data, "architectures": None}) is not None:
        return None
    return explanations.BROKEN_CONFIG.finding(
        message="model_type",
        help="model_type",
        name=name,
        kind=kind,
        known=known.model_type,
        architecture=known.architecture,
    )


def _config(
    data: Mapping[str, Any], sha256: str, name: str, *, head: Head = "tokens"
) -> Config | Finding:
    shape = read_headed(data, head)
    if shape is None and (empty := _find_empty(data)) is not None:
        return _value_below_one(name, empty, data[empty])
    model_type = data.get("model_type")
    architecture = _architecture(data, shape)
    if shape is None and (zero := _find_zero(data, architecture)) is not None:
        return explanations.BROKEN_CONFIG.finding(
            message="zero", help="zero", name=name, key=zero, architecture=architecture or ""
        )
    other = not reads_tokens(model_type) or reads_ahead(model_type) or is_diffusion(architecture)
    if architecture is None or other or has_own_tower(data, shape):
        return not_causal(data, name, head)
    text = _section(data)
    said = data.get("vocab_size", data.get("padded_vocab_size", text.get("vocab_size")))
    rows = shape.vocab if shape is not None else said
    if type(rows) is not int or rows <= 0:
        return _broken(name, "no_vocab_size")
    if shape is not None and 0 < shape.experts < shape.experts_per_token:
        return explanations.BROKEN_CONFIG.finding(
            message="experts",
            help="value",
            name=name,
            experts=shape.experts,
            active=shape.experts_per_token,
        )
    custom = isinstance(data.get("auto_map"), dict) and not _is_built_in(shape, model_type)
    if not custom and (fault := find_fault(data, name)) is not None:
        return fault
    return Config(
        data=data,
        sha256=sha256,
        architecture=architecture,
        model_type=model_type if isinstance(model_type, str) else "",
        shape=shape,
        context_tokens=shape.context_tokens if shape is not None else _context({**text, **data}),
        embedding_rows=rows,
        dtype=dtype_named(said_dtype(data)[1]),
        quantized=read_quantization(data) or read_quantization(text),
        custom_code=custom,
    )


def find_fault(data: Mapping[str, Any], name: str, *, flat: bool = False) -> Finding | None:
    """Return the first fault of the config, or of one inside it, that stops transformers."""
    parts = list_parts(data, flat=flat)
    faults = (check(part, name) for part in parts for check in _CHECKS)
    return next((fault for fault in faults if fault is not None), None)


def _find_empty(data: Mapping[str, Any]) -> str | None:
    """Return the first size of every model that is a number below one, or no number but a text."""
    for key in (*_SIZES, *_OTHER_SIZES):
        value = data.get(key)
        is_low = key in _SIZES and type(value) is int and value < 1
        if is_low or isinstance(value, str | bool):
            return key
    return find_low_size(data)


def _value_below_one(name: str, key: str, value: object) -> Finding:
    if type(value) is not int:
        return value_fault(name, key, value, Message("phrase.integer"))
    return explanations.BROKEN_CONFIG.finding(
        message="size", help="value", name=name, key=key, number=quote(value)
    )


def _find_zero(data: Mapping[str, Any], architecture: str | None) -> str | None:
    """Return the key whose 0 makes matrices without elements in this class."""
    entry = derived_table().get(architecture or "")
    return None if entry is None else find_zero(entry, data)


def _no_method(name: str) -> Finding:
    """Return the finding that transformers takes the weights as quantized, by no known method."""
    return explanations.BROKEN_CONFIG.finding(message="method", help="method", name=name)


def _is_built_in(shape: Shape | None, model_type: object) -> bool:
    """Whether transformers has this class, and uses its own where no code is trusted."""
    return shape is not None and shape.model_type == model_type


def _architecture(data: Mapping[str, Any], shape: Shape | None) -> str | None:
    """Return the class that transformers would load; None where it is not a causal model."""
    if shape is not None:
        return shape.architecture
    names = data.get("architectures")
    name = names[0] if isinstance(names, list) and names else None
    if data.get("is_encoder_decoder") is True:
        return None  # such as Florence-2, whose code registers it with `AutoModelForCausalLM`
    if isinstance(name, str) and name.endswith(_CAUSAL):
        return name
    remote = data.get("auto_map")
    if isinstance(remote, dict) and isinstance(remote.get("AutoModelForCausalLM"), str):
        return str(remote["AutoModelForCausalLM"]).rsplit(".", 1)[-1]
    return None


def _context(data: Mapping[str, Any]) -> int | None:
    values = (data.get(key) for key in _CONTEXT_KEYS)
    return next((value for value in values if type(value) is int and value > 0), None)


def _absent(folder: Path, name: str) -> Finding:
    """Return the finding for a folder without a model, by what it holds instead."""
    if (folder / _ADAPTER_FILE).is_file():
        tool, base = _origin_of_adapter(folder)
        return explanations.ADAPTER.finding(
            message=tool, help="base" if base else "", name=name, base=base
        )
    if next(folder.glob("*.gguf"), None) is not None:
        return gguf_finding(name)
    others = {_PIPELINE_FILE: "pipeline", PARAMS_FILE: "params"}
    held = next((kind for file, kind in others.items() if (folder / file).is_file()), "")
    if held:
        return explanations.NO_CONFIG.finding(message=held, help=held, name=name)
    return _absent_here(list_files(folder), name)


def _absent_here(files: Sequence[str], name: str) -> Finding:
    """Return the finding for a folder whose model is in one below, or in another format."""
    below = [
        file.removesuffix(f"/{CONFIG_FILE}") for file in files if Path(file).name == CONFIG_FILE
    ]
    foreign = list_foreign(files)
    form = find_format(foreign[0]) if foreign else None
    if below:
        return explanations.NO_CONFIG.finding(
            message="below", help="below", name=name, folder=max(below, key=_number_last)
        )
    if form is not None:
        return explanations.NO_CONFIG.finding(
            message="format",
            help="format",
            name=name,
            file=foreign[0],
            what=form.what,
            advice=form.advice,
        )
    return explanations.NO_CONFIG.finding(name=name)


def _number_last(folder: str) -> tuple[bool, int]:
    """Return what sorts the folders of a trainer's checkpoints by their steps."""
    number = folder.rpartition("-")[2]
    return number.isdecimal(), int(number) if number.isdecimal() else -folder.count("/")


def gguf_finding(name: str) -> Finding:
    """Return the finding that a GGUF cannot be trained."""
    near = find_converted(name.replace("\\", "/").removesuffix("/"))
    return explanations.GGUF.finding(help="near" if near else "", name=name, near=near)


def _origin_of_adapter(folder: Path) -> tuple[str, str]:
    """Return the tool that wrote an adapter ("mlx", or "" for PEFT), and its base or "".

    The base of MLX is often a quantized copy, whose original is named.
    """
    try:
        config = json.loads((folder / _ADAPTER_FILE).read_bytes())
    except (OSError, ValueError, RecursionError):
        return "", ""
    config = config if isinstance(config, dict) else {}
    is_mlx = "base_model_name_or_path" not in config and "model" in config
    base = config.get("model" if is_mlx else "base_model_name_or_path")
    if not isinstance(base, str) or not base or Path(base).is_absolute():
        return "mlx" if is_mlx else "", ""
    original = find_original(base) if is_mlx else None
    return "mlx" if is_mlx else "", base if original is None else original.id


def _broken(name: str, fault: str) -> Finding:
    return explanations.BROKEN_CONFIG.finding(message=fault, name=name)
