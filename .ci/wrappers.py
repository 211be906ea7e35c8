"""Derive entries of `wrappers.json` from the image-text classes of transformers.

    .ci/wrappers.py [MODEL_TYPE ...]

Each class is built on the meta device twice, with a small language model inside. Its text class is
the one of ftc's tables that counts the same parameters and has linear modules of the same names.
What stays unknown is printed and left out; entries that are there already keep what was added by
hand, and must agree with what is derived.
"""

import json
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import SequenceMatcher
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any

import torch
import transformers
from builds import few_layers, find_towers, prefix_of
from transformers import PreTrainedModel
from transformers.models.auto import modeling_auto
from transformers.models.timm_wrapper.modeling_timm_wrapper import TimmWrapperModel

from ftc.compiler.knowledge.architectures.architecture import class_of_type, read_shape
from ftc.compiler.knowledge.architectures.derived import derived_table
from ftc.compiler.knowledge.multimodal.wrappers import Wrapper, text_config
from ftc.runtime.upstream.towers import TYPE_ENDING

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "compiler/knowledge/multimodal/wrappers.json"
#: What must agree with an entry that is there already.
CERTAIN = ("model_type", "loads", "text", "prefix", "text_types")
SMALL = {"tie_word_embeddings": False, "pad_token_id": 0}
BY_LAYER = ("layer_types", "mlp_layer_types", "per_layer_config", "no_rope_layers", "moe_layers")
LAYERS = 6
#: Small language models of different proportions, which only one class counts alike.
TEXTS = (
    {"num_hidden_layers": LAYERS, **SMALL, "vocab_size": 1000},
    {"num_hidden_layers": 12, **SMALL, "vocab_size": 2000},
)
#: Keys of a text config that say nothing about its tensors.
FLAT_WIDTH = 96
BASES = Path(__file__).with_name("architecture_bases.json")
#: Keys outside the text without which a class does not build.
OUTER: dict[str, dict[str, Any]] = {
    "aya_vision": {"vision_config": {"num_attention_heads": 16}},
    "emu3": {"vocabulary_map": {"<image>": 4}},
    "granite4_vision": {"deepstack_layer_map": [[-19, 0]], "downsample_rate": "1/4"},
    "perception_lm": {"vision_config": {"model_args": {"embed_dim": 1024}}},
}
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
        table[name] = {**entry, **known, **others_of(model_type, name, entry["text_types"])}
    lines = [f" {json.dumps(name)}: {json.dumps(table[name])}" for name in sorted(table)]
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def image_text_classes() -> Iterator[tuple[str, str]]:
    """Yield the model type and the class of every image-text model."""
    names = modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
    found = [(kind, one if isinstance(one, str) else one[0]) for kind, one in names.items()]
    whole = [(said["type"], name) for name, said in bases().items() if is_whole(name)]
    yield from {name: (kind, name) for kind, name in (*reversed(found), *whole)}.values()


@cache
def bases() -> dict[str, Any]:
    """Return the file of bases."""
    found: dict[str, Any] = json.loads(BASES.read_text(encoding="utf-8"))
    return found


def is_whole(name: str) -> bool:
    """Return whether a class has the keys of its language model in no section of their own."""
    said = bases().get(name, {})
    return "inside" in said and said["inside"] == said["type"]


def others_of(model_type: str, name: str, text_types: Sequence[str]) -> dict[str, list[str]]:
    """Return the other types that transformers reads with a class, under the key of the table."""
    names = modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
    kinds = [kind for kind, one in names.items() if one == name and kind != model_type]
    texts = {kind: transformers.CONFIG_MAPPING[kind]().get_text_config() for kind in kinds}
    found = sorted(kind for kind, text in texts.items() if text.model_type in text_types)
    return {"also": found} if found else {}


def derive(model_type: str, name: str) -> dict[str, Any]:
    """Return the entry of a class; SystemExit says what stands in the way."""
    cls, problem = transformers.CONFIG_MAPPING[model_type], None
    if is_whole(name):
        return derive_whole(model_type, name)
    for texts in texts_of(cls):
        try:
            return derive_from(model_type, name, texts)
        except SystemExit as error:
            problem = problem or error
    raise problem or SystemExit("no language model")


def derive_whole(model_type: str, name: str) -> dict[str, Any]:
    """Return the entry of a class whose configuration is that of its language model."""
    cls = transformers.CONFIG_MAPPING[model_type]
    few = {"num_hidden_layers": LAYERS, "vocab_size": 1000, "pad_token_id": 0}
    few |= bases()[name].get("base", {})
    settings = cls(**few, **few_layers(cls))
    loads = loaded_as(settings, name)
    automatic = "AutoModelForImageTextToText" if loads == "image-text" else "AutoModelForCausalLM"
    with torch.device("meta"):
        model = getattr(transformers, automatic).from_config(settings)
    prefix = prefix_of(model)
    entry: dict[str, Any] = {
        "model_type": model_type,
        "loads": loads,
        "text": name,
        "prefix": prefix,
        "text_types": [model_type],
        "defaults": {},
        "whole": True,
    }
    if asks_types(model):
        entry["asks_types"] = True
    towers = find_towers(model, prefix)
    count = sum(p.numel() for n, p in model.named_parameters() if not n.startswith(towers))
    compare({"architectures": [name], "model_type": model_type, **few}, name, entry, count)
    return entry


def texts_of(cls: Any) -> Iterator[list[dict[str, Any]]]:
    """Yield small language models, and those with the keys that this kind needs, if any."""
    yield list(TEXTS)
    if base := base_of(cls):
        yield [text | {"num_hidden_layers": LAYERS} | base for text in TEXTS]


def derive_from(model_type: str, name: str, texts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the entry of a class that is built with these language models."""
    built = [build(model_type, text) for text in texts]
    settings, cls = built[0][0], transformers.CONFIG_MAPPING[model_type]
    inner = settings.get_text_config()
    if inner is settings or isinstance(inner, dict):
        raise SystemExit("no language model with a configuration of its own")
    first, *others = (text_classes(config, model) for config, model in built)
    loads = loaded_as(settings, name)
    problem = SystemExit(f"its language model is of several classes: {first} {others}")
    for text in (each for each in first if all(each in other for other in others)):
        entry = {
            "model_type": model_type,
            "loads": loads,
            "text": text,
            "prefix": "model" if loads == "text" else prefix_of(built[0][1]),
            "text_types": [inner.model_type],
            "defaults": defaults_of(cls(), text),
        }
        if holds_any(cls):
            entry["any_text"] = True
        if is_flat(cls):
            entry["flat"] = True
        if any(isinstance(module, TimmWrapperModel) for module in built[0][1].modules()):
            entry["timm"] = True
        if asks_types(built[0][1]):
            entry["asks_types"] = True
        try:
            check(name, entry, texts[0])
        except SystemExit as error:
            problem = error
        else:
            return entry
    raise problem


def asks_types(model: Any) -> bool:
    """Return whether a model requires token type ids in training."""
    names = [name for name in signature(model.forward).parameters if name.endswith(TYPE_ENDING)]
    try:
        with torch.no_grad():
            model.train()(input_ids=torch.ones((1, 8), dtype=torch.long, device="meta"))
    except ValueError as error:
        return any(f"`{name}`" in str(error) for name in names)
    except Exception:  # noqa: BLE001 - on the meta device a class may stop later for other reasons
        return False
    return False


def base_of(cls: Any) -> dict[str, Any]:
    """Return the keys without which a language model of this kind does not build."""
    text = cls().get_text_config().to_dict()
    kind = text["model_type"]
    said = bases().values()
    found: dict[str, Any] = next((b.get("base", {}) for b in said if b["type"] == kind), {})
    if text.get("head_dim", 0) is None:
        found = {"head_dim": text["hidden_size"] // text["num_attention_heads"]} | found
    return found


def is_flat(cls: Any) -> bool:
    """Return whether the keys of the language model may be beside those of the tower."""
    try:
        inside = cls(hidden_size=FLAT_WIDTH).get_text_config()
    except Exception:  # noqa: BLE001 - each validator has its own
        return False
    return bool(inside.hidden_size == FLAT_WIDTH)


def check(name: str, entry: Mapping[str, Any], said: Mapping[str, Any]) -> None:
    """Hold an entry against a model of the few keys that a repository would have."""
    few = {key: value for key, value in said.items() if key != "tie_word_embeddings"}
    inside = {"model_type": entry["text_types"][0], **few}
    config = {"architectures": [name], "model_type": entry["model_type"], "text_config": inside}
    cls = transformers.CONFIG_MAPPING[entry["model_type"]]
    try:
        with torch.device("meta"), without_towers_of_timm():
            settings = cls(text_config=dict(inside), **outer_keys(cls, inside))
            model = transformers.AutoModelForImageTextToText.from_config(settings)
    except Exception as error:
        raise SystemExit("does not build from a few keys") from error
    parts = parts_of(model)
    count = sum(p.numel() for n, p in model.named_parameters() if n.startswith(parts))
    compare(config, name, entry, count)


def compare(config: Mapping[str, Any], name: str, entry: Mapping[str, Any], count: int) -> None:
    """Stop if the tables count other parameters for a `config.json` than its model has."""
    text = text_config(config, Wrapper(architecture=name, **entry))
    shape = None if text is None else read_shape(text)
    if shape is None or shape.parameters != count:
        found = shape and shape.parameters
        raise SystemExit(f"its defaults give {found} parameters, and not {count}")


def build(model_type: str, text: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the configuration and the model of a type with this language model.

    Where the class has lists with an entry for each layer, its default is built as it is.
    """
    cls, error = transformers.CONFIG_MAPPING[model_type], ""
    for said in (
        dict(text),
        {k: v for k, v in text.items() if k not in ("num_hidden_layers", *BY_LAYER)},
    ):
        try:
            inside = cls().get_text_config().to_dict()
            layered = "num_hidden_layers" in said
            inside = {k: v for k, v in inside.items() if not (layered and k in BY_LAYER)} | said
            settings = cls(text_config=inside, tie_word_embeddings=False, **outer_keys(cls, inside))
            with torch.device("meta"), without_towers_of_timm():
                return settings, transformers.AutoModelForImageTextToText.from_config(settings)
        except Exception as raised:  # noqa: BLE001 - a class may refuse its configuration in any way
            error = f"{type(raised).__name__}: {str(raised).strip()[:160]}"
    raise SystemExit(f"does not build: {error}")


def outer_keys(cls: Any, text: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a class needs beside its sections: sizes of its text that it has once more."""
    whole = cls().to_dict()
    same = {key: text[key] for key in ("hidden_size", "vocab_size") if key in whole and key in text}
    return same | OUTER.get(cls.model_type, {})


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


def parts_of(model: Any) -> tuple[str, ...]:
    """Return what the names of the language model's tensors begin with.

    Its head is beside what has the layers, or beside the tower.
    """
    prefix = prefix_of(model)
    outer = prefix.rpartition(".")[0]
    return f"{prefix}.", "lm_head.", f"{outer}.lm_head." if outer else "lm_head."


def text_classes(settings: Any, model: Any) -> list[str]:
    """Return the classes of the tables that have these tensors, the likeliest name first."""
    named = [(n, p) for n, p in model.named_parameters() if n.startswith(parts_of(model))]
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
    said = inner.model_type.replace("_", "")

    def strangeness(name: str) -> tuple[bool, int, float]:
        alike = SequenceMatcher(None, said, name.lower()).ratio()
        return name != own, len(inner_defaults(inner, name)), -alike

    return sorted(fitting, key=strangeness)


def known_classes() -> list[str]:
    """Return the classes of the tables that transformers itself defines."""
    return [name for name in derived_table() if hasattr(transformers, name)]


def loaded_as(settings: Any, name: str) -> str:
    """Return what `AutoModelForCausalLM` makes of the configuration."""
    mapping = transformers.AutoModelForCausalLM._model_mapping  # noqa: SLF001 - no public way
    if type(settings) not in mapping:
        return "image-text"
    return "causal" if mapping[type(settings)].__name__ == name else "text"


def holds_any(cls: Any) -> bool:
    """Return whether the language model may be of any type that transformers knows."""
    said = (
        cls.sub_configs_defaults.get("text_config")
        if hasattr(cls, "sub_configs_defaults")
        else None
    )
    kind = getattr(said, "config_class", said)
    return kind is transformers.AutoConfig


def defaults_of(whole: Any, text: str) -> dict[str, int | bool]:
    """Return the defaults of the text config that differ from those of the text class.

    What the whole says of ties is what counts.
    """
    inner = whole.get_text_config()
    found = inner_defaults(inner, text)
    tied = bool(getattr(whole, "tie_word_embeddings", getattr(inner, "tie_word_embeddings", False)))
    own = found.get("tie_word_embeddings", tied_by_class(inner, text))
    return found if own == tied else {**found, "tie_word_embeddings": tied}


def tied_by_class(inner: Any, text: str) -> bool:
    """Return whether the tables tie the embeddings of this class where its config does not say."""
    config = {k: v for k, v in inner.to_dict().items() if k != "tie_word_embeddings"}
    shape = read_shape({**config, "architectures": [text]})
    return shape is not None and shape.tied


def inner_defaults(inner: Any, text: str) -> dict[str, int | bool]:
    """Return the same without what the whole says."""
    types = modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    if text in (types.get(inner.model_type), class_of_type(inner.model_type)):
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
