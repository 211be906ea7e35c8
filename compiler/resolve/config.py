"""The model's `config.json`: what it says of architecture, context, dtype and quantization."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from ftc.compiler.knowledge.architecture import Shape, read_shape
from ftc.compiler.resolve import pages
from ftc.spec.finding import Finding

Dtype = Literal["float32", "float16", "bfloat16"]

CONFIG_FILE: Final = "config.json"
_POINTER: Final = "/model/id"
_CONTEXT_KEYS: Final = (
    *("max_position_embeddings", "n_positions", "n_ctx", "seq_length", "max_seq_len"),
    *("max_sequence_length", "model_max_length"),
)
_DTYPES: Final[Mapping[str, Dtype]] = {
    "float32": "float32",
    "F32": "float32",
    "float16": "float16",
    "F16": "float16",
    "bfloat16": "bfloat16",
    "BF16": "bfloat16",
}
_CAUSAL: Final = ("ForCausalLM", "LMHeadModel")


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """A readable `config.json` of a causal language model; `dtype` is None where it says none."""

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


def read_config(folder: Path, name: str) -> Config | Finding:
    """Read the folder's config; `name` is what messages call the model."""
    path = folder / CONFIG_FILE
    if not path.is_file():
        return _absent(folder, name)
    text = path.read_bytes()
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return _broken(name, "is not JSON")
    if not isinstance(data, dict):
        return _broken(name, "holds no JSON object")
    return _config(data, hashlib.sha256(text).hexdigest(), name)


def dtype_named(name: object) -> Dtype | None:
    """Return the dtype by its name in a config or in a safetensors header."""
    return _DTYPES.get(name.removeprefix("torch.")) if isinstance(name, str) else None


def _config(data: Mapping[str, Any], sha256: str, name: str) -> Config | Finding:
    shape = read_shape(data)
    model_type = data.get("model_type")
    architecture = _architecture(data, shape)
    if architecture is None:
        return _not_causal(data, name)
    rows = shape.vocab if shape is not None else data.get("vocab_size")
    if type(rows) is not int or rows <= 0:
        return _broken(name, "has no `vocab_size`")
    quantization = data.get("quantization_config")
    quantized = None
    if isinstance(quantization, dict):
        quantized = str(quantization.get("quant_method", "unknown"))
    return Config(
        data=data,
        sha256=sha256,
        architecture=architecture,
        model_type=model_type if isinstance(model_type, str) else "",
        shape=shape,
        context_tokens=shape.context_tokens if shape is not None else _context(data),
        embedding_rows=rows,
        dtype=dtype_named(data.get("dtype", data.get("torch_dtype"))),
        quantized=quantized,
        custom_code=isinstance(data.get("auto_map"), dict) and not _is_built_in(shape, model_type),
    )


def _is_built_in(shape: Shape | None, model_type: object) -> bool:
    """Whether transformers has this class, and takes its own where no code is trusted."""
    return shape is not None and shape.model_type == model_type


def _architecture(data: Mapping[str, Any], shape: Shape | None) -> str | None:
    """Return the class that transformers would load; None where it is no causal model."""
    if shape is not None:
        return shape.architecture
    names = data.get("architectures")
    name = names[0] if isinstance(names, list) and names else None
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
    """Say what the folder holds instead of a model."""
    if (folder / "adapter_config.json").is_file():
        base = _base_of_adapter(folder)
        return pages.ADAPTER.finding(
            message=f"`{name}` is a PEFT adapter, not a model",
            help=f"name its base model{base} and train a new adapter, or merge it first",
            pointer=_POINTER,
        )
    if next(folder.glob("*.gguf"), None) is not None:
        return gguf_finding(name)
    return pages.NO_CONFIG.finding(
        message=f"`{name}` has no `config.json`",
        help="name the folder that `save_pretrained` wrote, with config, tokenizer and weights",
        pointer=_POINTER,
    )


def gguf_finding(name: str) -> Finding:
    """Say that a GGUF is no model to train."""
    return pages.GGUF.finding(
        message=f"`{name}` is a GGUF, which cannot be trained",
        help="name the model that it was converted from",
        pointer=_POINTER,
    )


def _base_of_adapter(folder: Path) -> str:
    try:
        base = json.loads((folder / "adapter_config.json").read_bytes())["base_model_name_or_path"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""
    named = isinstance(base, str) and base and not Path(base).is_absolute()
    return f" `{base}`" if named else ""


def _broken(name: str, what: str) -> Finding:
    return pages.BROKEN_CONFIG.finding(
        message=f"the `config.json` of `{name}` {what}",
        help="copy or download the model again",
        pointer=_POINTER,
    )


def _not_causal(data: Mapping[str, Any], name: str) -> Finding:
    names = data.get("architectures")
    if isinstance(names, list) and names and isinstance(names[0], str):
        what = f"is a `{names[0]}`"
    elif isinstance(data.get("model_type"), str):
        what = f"is of the type `{data['model_type']}`"
    else:
        return _broken(name, "names no architecture")
    return pages.NOT_CAUSAL.finding(
        message=f"`{name}` {what}, which is no causal language model",
        help="name a model that generates text: its architecture ends in `ForCausalLM`",
        pointer=_POINTER,
    )
