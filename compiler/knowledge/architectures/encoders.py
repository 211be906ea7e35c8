"""Encoders: models that read a text in both directions and return a vector for each token.

`.ci/encoders.py` derives the table from the classes of transformers. An entry has the tensors of
the class without an output head, since only the vectors are used. `also` lists classes that add a
head to the same weights; the head is dropped. `first_position` is the position of the first token.
`scoring` is the class with a score head: its name, the path of the encoder in it, and its tensors
outside the layers.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from ftc.compiler.knowledge.architectures.architecture import class_of_type, read_shape
from ftc.compiler.knowledge.architectures.derived import (
    derived_table,
    encoder_table,
    read_entry,
)
from ftc.compiler.knowledge.architectures.derived_entry import EncoderEntry, EntryConfig
from ftc.compiler.knowledge.architectures.shape import Shape
from ftc.compiler.knowledge.objectives import Head


def read_headed(config: Mapping[str, object], head: Head) -> Shape | None:
    """Return the shape of the model loaded for an objective's output; None for an unknown class.

    For `vectors`, the model is an encoder or a causal model without its head, even if its weights
    have the head. `relevance` is the single score of an encoder.
    """
    shape = read_shape(config)
    if shape is None and head == "vectors":
        shape = read_bare(config)
    if shape is None and head in ("vectors", "relevance"):
        return read_encoder(config, scores=head == "relevance")
    return headless(shape) if shape is not None and head == "vectors" else shape


def read_bare(config: Mapping[str, object]) -> Shape | None:
    """Apply the formula of a causal class to the config of a model that was saved without its head.

    Such a config names the inner class: `MistralModel`, `Gemma3TextModel`. The shape is that of the
    class with the head. The result is None for all other models.
    """
    names, own = config.get("architectures"), class_of_type(config.get("model_type"))
    if own is None or not isinstance(names, list) or not names:
        return None
    loaded = derived_table()[own].get("loads", own)
    stem = loaded.removesuffix("ForCausalLM").removesuffix("LMHeadModel")
    bare = names[0] in (f"{stem}Model", f"{stem}TextModel")
    return read_shape({**config, "architectures": [own]}) if bare else None


def read_encoder(config: Mapping[str, object], *, scores: bool = False) -> Shape | None:
    """Apply the table's formula to a `config.json`; None if no entry describes this model.

    With `scores`, the shape is that of the class with one score, even if the weights lack its head.
    """
    name = _name(config, scores=scores)
    if name is None:
        return None
    entry = encoder_table()[name]
    shape = read_entry(name, scored_entry(entry) if scores else entry, config)
    if shape is None:
        return None
    return replace(
        shape,
        context_tokens=shape.context_tokens - entry["first_position"],
        head_parameters=_count_head(entry, config) if scores else 0,
        tied=not scores,
    )


def scored_entry(entry: EncoderEntry) -> EncoderEntry:
    """Return the entry of the encoder's class with a score head."""
    prefix = entry["scoring"]["prefix"]
    return {
        **entry,
        "model": entry["scoring"]["model"],
        "stack": prefix + entry["stack"],
        "embedding": prefix + entry["embedding"],
    }


def scoring_class(architecture: str) -> str:
    """Return the scoring class that has the layers of a known encoder."""
    return encoder_table()[architecture]["scoring"]["class"]


def list_encoders() -> list[str]:
    """Return the classes of the table."""
    return list(encoder_table())


def is_encoder(architecture: str) -> bool:
    """Return whether a class of the table reads in both directions."""
    return architecture in encoder_table()


def reads_both_ways(config: Mapping[str, object]) -> bool:
    """Return whether `config.json` turns the causal mask off, so that tokens attend to later ones.

    That is `is_causal: false` (`create_causal_mask` of transformers), or a key of Gemma's classes,
    whose value `vision` applies to images alone. The causal class of an encoder reads forward only
    with `is_decoder: true`.
    """
    own = config.get("use_bidirectional_attention")
    if config.get("is_causal") is False or own is True or own == "all":
        return True
    return _lacks_decoder(config)


def _lacks_decoder(config: Mapping[str, object]) -> bool:
    """Return whether a config names the causal class of an encoder without being a decoder."""
    names = config.get("architectures")
    first = names[0] if isinstance(names, list) and names else None
    entry = derived_table().get(first) if isinstance(first, str) else None
    if entry is None or [*entry["requires"].get("is_decoder", ())] != [True]:
        return False
    return config.get("is_decoder") is not True


def headless(shape: Shape) -> Shape:
    """Return the shape of a causal model without its output head: `AutoModel` loads none."""
    return replace(
        shape,
        parameters=shape.parameters - shape.head_parameters,
        head_parameters=0,
        tied=True,
    )


def _count_head(entry: EncoderEntry, config: Mapping[str, object]) -> int:
    """Return the parameters of the score head on top of an encoder."""
    read, scoring = EntryConfig(entry, config), entry["scoring"]
    rows = [row for row in scoring["model"] if not row[0].startswith(scoring["prefix"])]
    return sum(prod(read.sides(sides) or ()) for _, sides, when in rows if read.holds(when, "", ""))


def _name(config: Mapping[str, object], *, scores: bool) -> str | None:
    names = config.get("architectures")
    if isinstance(names, list) and names:
        for name, entry in encoder_table().items():
            scoring = [entry["scoring"]["class"]] if scores else []
            if names[0] in (name, *entry["also"], *scoring):
                return name
        return None
    kind = config.get("model_type")
    return next((k for k, e in encoder_table().items() if e["model_type"] == kind), None)
