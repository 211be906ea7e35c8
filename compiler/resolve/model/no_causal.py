"""The finding about a `config.json` whose class does not write text or cannot be trained by ftc."""

from collections.abc import Mapping
from typing import Any, Final

from ftc.compiler.knowledge.architectures.architecture import class_of_type, is_diffusion
from ftc.compiler.knowledge.architectures.causal_types import reads_ahead, reads_tokens
from ftc.compiler.knowledge.architectures.config_types import find_section, is_known_type
from ftc.compiler.knowledge.architectures.encoders import list_encoders, read_bare, read_headed
from ftc.compiler.knowledge.architectures.shape import Shape
from ftc.compiler.knowledge.multimodal.wrappers import find_wrapper, text_config
from ftc.compiler.knowledge.objectives import Head
from ftc.compiler.resolve import explanations
from ftc.compiler.resolve.model.similar import list_alike
from ftc.spec.findings.finding import Finding

__all__ = ["has_own_tower", "is_only_code", "is_unknown", "not_causal"]

_SMALL: Final = 300_000_000  # parameters, as those of most encoders
_USUAL: Final = 8_000_000_000  # parameters, as those of most language models with a tower
#: Config sections of image and audio towers, and all sections of multimodal configs.
_TOWERS: Final = ("vision_config", "audio_config")
_SECTIONS: Final = ("text_config", "vision_config", "audio_config", "thinker_config", "llm_config")


def not_causal(data: Mapping[str, Any], name: str, head: Head) -> Finding:
    """Return the finding for a config whose class does not do what the objective needs.

    It names models that do, about as large as the encoder or as a usual language model.
    """
    names, kind = data.get("architectures"), data.get("model_type")
    named = isinstance(names, list) and bool(names) and isinstance(names[0], str)
    if not named and not isinstance(kind, str):
        return _nameless(data, name)
    what = names[0] if named and isinstance(names, list) else kind
    seeing = named and any(isinstance(data.get(key), dict) for key in _SECTIONS)
    seeing = seeing and data.get("is_encoder_decoder") is not True
    encoder = read_headed(data, "vectors")
    message, advice = "" if named else "type", ""
    part = inside = ""
    if not reads_tokens(kind):
        message, advice = "drafts", "drafts"
    elif reads_ahead(kind):
        message = "ahead"
    elif is_diffusion(what):
        message = "diffusion"
    elif is_unknown(data) and (seeing or encoder is None):
        message, advice = "unknown", "unknown"
    elif has_own_tower(data, None):
        message, advice = "tower", "code"
    elif is_only_code(data) and (seeing or head == "tokens"):
        message, advice = "code", "code"
    elif seeing:
        part, inside = _inside(data)
        message = advice = "part" if part else "inside" if inside else "wrapper"
    elif head in ("vectors", "relevance"):
        message, advice = head, head
    elif head == "scores":
        advice = "scores"
    elif head == "tokens" and read_headed(data, head) is not None:
        message, advice = "alone", "inside"
    elif head == "tokens" and read_bare(data) is not None:
        message = advice = "bare"
    elif head == "tokens" and encoder is not None:
        advice = "encoder"
    size = encoder.parameters if encoder is not None else _USUAL if seeing else _SMALL
    return explanations.NOT_CAUSAL.finding(
        message=message,
        help=advice,
        name=name,
        what=str(what),
        kind=str(kind),
        encoders=list_encoders(),
        models=list_alike(size),
        part=part,
        inside=inside,
    )


def has_own_tower(data: Mapping[str, Any], shape: Shape | None) -> bool:
    """Return whether a multimodal class exists only in the code of its repository.

    Such code often cannot read rows of text alone: that of InternVL requires images.
    """
    towers = any(isinstance(data.get(key), dict) for key in _TOWERS)
    remote = data.get("auto_map")
    loads = isinstance(remote, dict) and "AutoModelForCausalLM" in remote
    return shape is None and towers and loads and is_only_code(data)


def is_only_code(data: Mapping[str, Any]) -> bool:
    """Return whether a config's class exists only in the code of its repository."""
    return isinstance(data.get("auto_map"), dict) and not is_known_type(data.get("model_type"))


def is_unknown(data: Mapping[str, Any]) -> bool:
    """Return whether a config's type is in neither transformers nor the code of its repository."""
    kind, remote = data.get("model_type"), data.get("auto_map")
    return isinstance(kind, str) and not isinstance(remote, dict) and not is_known_type(kind)


def _nameless(data: Mapping[str, Any], name: str) -> Finding:
    """Return the finding for a config that names neither a class nor a type of transformers."""
    kind = data.get("_class_name")
    message = "diffusers" if isinstance(kind, str) else "no_architecture"
    return explanations.BROKEN_CONFIG.finding(
        message=message, help=message, name=name, what=str(kind)
    )


def _inside(data: Mapping[str, Any]) -> tuple[str, str]:
    """Return the part of a config that is a multimodal class of ftc's table, and that class.

    Without such a part, return "", and the class of a known language model inside, or "".
    """
    kind, found = str(data.get("model_type")), ""
    for key, value in data.items():
        if not isinstance(value, dict):
            continue
        section = find_section(kind, key)
        typed = {"model_type": section.model_type if section else "", **value}
        wrapper = find_wrapper({**typed, "architectures": None})
        if wrapper is not None and text_config(typed, wrapper) is not None:
            return key.removesuffix("_config"), wrapper.architecture
        found = found or class_of_type(typed["model_type"]) or ""
    return "", found
