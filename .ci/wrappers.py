"""Derive entries of `compiler/knowledge/wrappers.json` from the image-text classes of transformers.

    .ci/wrappers.py [MODEL_TYPE ...]

Each class is built on the meta device twice, with a small language model inside. Its text class is
the one of ftc's tables that counts the same parameters and has linear modules of the same names.
What stays unknown is printed and left out; entries that are there already keep what was added by
hand, and must agree with what is derived.
"""

import json
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import PreTrainedModel
from transformers.models.auto import modeling_auto
from transformers.models.timm_wrapper.modeling_timm_wrapper import TimmWrapperModel

from ftc.compiler.knowledge.architecture import read_shape
from ftc.compiler.knowledge.derived import derived_table
from ftc.compiler.knowledge.wrappers import Wrapper, text_config

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "compiler/knowledge/wrappers.json"
#: What must agree with an entry that is there already.
CERTAIN = ("model_type", "loads", "text", "prefix", "text_types")
SMALL = {"tie_word_embeddings": False, "pad_token_id": 0}
BY_LAYER = ("layer_types", "mlp_layer_types", "per_layer_config", "no_rope_layers")
#: Small language models of different proportions, which only one class counts alike.
TEXTS = (
    {"num_hidden_layers": 6, **SMALL, "vocab_size": 1000},
    {"num_hidden_layers": 12, **SMALL, "vocab_size": 2000},
)
#: Keys of a text config that say nothing about its tensors.
UNRELATED = {"use_cache", "return_dict", "chunk_size_feed_forward", "is_encoder_decoder"}


def main() -> None:
    """Write the table again, with the classes that could be derived."""
    transformers.logging.set_verbosity_error()
    warnings.simplefilter("ignore")
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    for model_type, name in image_text_classes():
        if sys.argv[1:] and model_type not in sys.argv[1:]:
            continue
        try:
            entry = derive(model_type, name)
        except SystemExit as error:
            sys.stderr.write(f"{name}: {error}\n")
            continue
        known = table.get(name, {})
        differs = {key for key in CERTAIN if known and known[key] != entry[key]}
        if differs:
            sys.stderr.write(f"{name}: differs from the table in {sorted(differs)} {entry}\n")
        table[name] = {**entry, **known}
    lines = [f" {json.dumps(name)}: {json.dumps(table[name])}" for name in sorted(table)]
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def image_text_classes() -> Iterator[tuple[str, str]]:
    """Yield the model type and the class of every image-text model."""
    names = modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
    found = [(kind, one if isinstance(one, str) else one[0]) for kind, one in names.items()]
    yield from {name: (kind, name) for kind, name in reversed(found)}.values()


def derive(model_type: str, name: str) -> dict[str, Any]:
    """Return the entry of a class; SystemExit says what stands in the way."""
    built = [build(model_type, text) for text in TEXTS]
    settings = built[0][0]
    inner = settings.get_text_config()
    if inner is settings or isinstance(inner, dict):
        raise SystemExit("no language model with a configuration of its own")
    found = [text_class(config, model) for config, model in built]
    if len(set(found)) != 1:
        raise SystemExit(f"its language model is of two classes: {found}")
    text = found[0]
    prefix = prefix_of(built[0][1])
    loads = loaded_as(settings, name)
    default = type(settings)()
    entry = {
        "model_type": model_type,
        "loads": loads,
        "text": text,
        "prefix": "model" if loads == "text" else prefix,
        "text_types": [inner.model_type],
        "defaults": defaults_of(default.get_text_config(), text),
    }
    if holds_any(type(settings)):
        entry["any_text"] = True
    check(name, entry)
    return entry


def check(name: str, entry: Mapping[str, Any]) -> None:
    """Hold an entry against a model of the few keys that a repository would have."""
    inside = {"model_type": entry["text_types"][0], **TEXTS[0]}
    config = {"architectures": [name], "model_type": entry["model_type"], "text_config": inside}
    cls = transformers.CONFIG_MAPPING[entry["model_type"]]
    try:
        with torch.device("meta"), without_towers_of_timm():
            settings = cls(text_config=dict(inside), tie_word_embeddings=False)
            model = transformers.AutoModelForImageTextToText.from_config(settings)
    except Exception as error:
        raise SystemExit("does not build from a few keys") from error
    prefix = prefix_of(model) + "."
    named = model.named_parameters()
    count = sum(p.numel() for n, p in named if n.startswith((prefix, "lm_head.")))
    text = text_config(config, Wrapper(architecture=name, **entry))
    shape = None if text is None else read_shape(text)
    if shape is None or shape.parameters != count:
        raise SystemExit(f"its defaults give another count than {count:,}")


def build(model_type: str, text: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the configuration and the model of a type with this language model.

    Where the class has lists with an entry for each layer, its default is built as it is.
    """
    cls, error = transformers.CONFIG_MAPPING[model_type], ""
    for said in (text, {k: v for k, v in text.items() if k != "num_hidden_layers"}):
        try:
            inside = cls().get_text_config().to_dict()
            layered = "num_hidden_layers" in said
            inside = {k: v for k, v in inside.items() if not (layered and k in BY_LAYER)}
            settings = cls(text_config=inside | dict(said), tie_word_embeddings=False)
            with torch.device("meta"), without_towers_of_timm():
                return settings, transformers.AutoModelForImageTextToText.from_config(settings)
        except Exception as raised:  # noqa: BLE001 - a class may refuse its configuration in any way
            error = f"{type(raised).__name__}: {str(raised).strip()[:160]}"
    raise SystemExit(f"does not build: {error}")


@contextmanager
def without_towers_of_timm() -> Iterator[None]:
    """Put a tower without tensors in the place of one that the package timm would make."""
    kept = TimmWrapperModel.__init__

    def make(self: Any, config: Any) -> None:
        PreTrainedModel.__init__(self, config)

    TimmWrapperModel.__init__ = make
    try:
        yield
    finally:
        TimmWrapperModel.__init__ = kept


def prefix_of(model: Any) -> str:
    """Return the path of what has the token embeddings and the layers."""
    try:
        weight = model.get_input_embeddings().weight
    except (AttributeError, NotImplementedError) as error:
        raise SystemExit("its class does not say where its tokens are embedded") from error
    path = next(n for n, p in model.named_parameters() if p is weight)
    return path.rpartition(".")[0].rpartition(".")[0]


def text_class(settings: Any, model: Any) -> str:
    """Return the class of the tables that has the tensors of the language model inside."""
    prefix = prefix_of(model) + "."
    named = [(n, p) for n, p in model.named_parameters() if n.startswith((prefix, "lm_head."))]
    count = sum(p.numel() for _, p in named)
    inner = settings.get_text_config()
    if isinstance(inner, dict):
        raise SystemExit("its language model has no configuration of its own")
    config = {**inner.to_dict(), "tie_word_embeddings": False}
    fitting = []
    for name in known_classes():
        shape = read_shape({**config, "architectures": [name]})
        if shape is None or shape.parameters != count:
            continue
        paths = {n.removesuffix(".weight") for n, p in named if p.dim() > 1}
        if all(any(p.endswith("." + key) for p in paths) for key in shape.linear_shapes):
            fitting.append(name)
    if not fitting:
        raise SystemExit(f"no class of the tables counts {count:,} for a {inner.model_type}")
    own = modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.get(inner.model_type)
    if own in fitting:
        return str(own)
    said = inner.model_type.replace("_", "")
    return max(fitting, key=lambda name: SequenceMatcher(None, said, name.lower()).ratio())


def known_classes() -> list[str]:
    """Return the classes that the tables have."""
    plain = json.loads(TABLE.with_name("architectures.json").read_text(encoding="utf-8"))
    return [*plain, *derived_table()]


def loaded_as(settings: Any, name: str) -> str:
    """Return what `AutoModelForCausalLM` makes of the configuration."""
    mapping = transformers.AutoModelForCausalLM._model_mapping  # noqa: SLF001 - no public way
    if type(settings) not in mapping:
        return "image-text"
    return "causal" if mapping[type(settings)].__name__ == name else "text"


def holds_any(cls: Any) -> bool:
    """Tell whether the language model may be of any type that transformers knows."""
    said = (
        cls.sub_configs_defaults.get("text_config")
        if hasattr(cls, "sub_configs_defaults")
        else None
    )
    kind = getattr(said, "config_class", said)
    return kind is transformers.AutoConfig


def defaults_of(inner: Any, text: str) -> dict[str, int | bool]:
    """Return the defaults of the text config that differ from those of the text class."""
    types = modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    if types.get(inner.model_type) == text:
        return {}
    kind = next(k for k, v in types.items() if v == text)
    own, other = inner.to_dict(), transformers.CONFIG_MAPPING[kind]().to_dict()
    return {
        key: value
        for key, value in own.items()
        if type(value) in (int, bool)
        and value != other.get(key)
        and (key in other or key == "head_dim")
        and key not in UNRELATED
        and not key.endswith("_token_id")
    }


if __name__ == "__main__":
    main()
