"""Names and sizes of the weights, from safetensors headers, that contradict `config.json`."""

import re
from collections.abc import Collection, Iterator, Mapping
from operator import eq
from typing import Final

from ftc.compiler.knowledge.architectures.architecture import (
    Shape,
    embedding_width,
    side_keys,
    spell_setting,
)
from ftc.compiler.knowledge.architectures.causal_types import has_renamed_tensors
from ftc.compiler.knowledge.architectures.derived import encoder_table
from ftc.compiler.knowledge.architectures.module_names import ModuleNames, find_module_names
from ftc.compiler.knowledge.objectives import Head
from ftc.compiler.resolve.detail_facts import AbsentTensor, Misfit
from ftc.compiler.resolve.model.config import Config
from ftc.compiler.resolve.model.weight_files.weights import Weights

_Sides = Mapping[str, tuple[int, int]]

_EMBEDDINGS: Final = ("embed_tokens", "wte", "word_embeddings", "embed_in")
_IN_LAYER: Final = re.compile(r"(?P<stack>\D*?)(?P<layer>\d{1,6})\.(?P<module>\D+)\.weight")
_MATRIX: Final = 2
_WEIGHT: Final = ".weight"
#: A tensor of a layer, whatever the layers are called.
_NUMBERED: Final = re.compile(r"(?:^|\.)\d+\.")
#: Layers that predict more tokens come after the others, and transformers leaves them out.
_MORE_LAYERS: Final = "num_nextn_predict_layers"


def find_misfit(config: Config, tensors: Mapping[str, tuple[int, ...]]) -> Misfit | None:
    """Return the first size that differs: of the embedding, the layers, or a linear module.

    None where the table does not describe the model, or where the weights are packed.
    """
    shape = config.shape
    if shape is None or config.quantized is not None or config.custom_code:
        return None
    sides = {name: (each[0], each[1]) for name, each in tensors.items() if len(each) == _MATRIX}
    found = [*_embedding(config, shape, sides)]
    if not shape.kinds:  # the modules of unequal layers have no sizes that hold for all
        found += _layers(config, shape, sides)
    return next((misfit for misfit in found if misfit.setting), next(iter(found), None))


def find_absent(config: Config, names: Collection[str], head: Head) -> AbsentTensor | None:
    """Return the first tensor that the weights lack: one of the layers, or the output head.

    transformers reads the layers under the name that they have in the class, with or without that
    of the model around them (`model.layers`, `layers`). It knows other names for some types only,
    and those are not compared; of a multimodal class only the head is. None too where no layers are
    among the names, where the table does not describe the model, and where the weights are packed.
    """
    shape, known = config.shape, find_module_names(config.architecture)
    layer, spelled = _spell_layers(config.architecture)
    if shape is None or not spelled or config.custom_code:
        return None
    if not names or config.quantized is not None:
        return None
    if config.wrapper is not None:
        return _find_absent_inside(config, shape, names, head)
    if has_renamed_tensors(config.model_type):
        return None
    layers = [name for name in names if _NUMBERED.search(name)]
    if not layers:
        return None
    if not any(name.startswith(spelled) for name in layers):
        return AbsentTensor(tensor=layer, held=min(layers))
    if known is not None and not shape.kinds and (lost := _find_lost(shape, known, layers)):
        return lost
    if known is None or head != "tokens" or shape.tied or known.head + _WEIGHT in names:
        return None
    return AbsentTensor(tensor=known.head + _WEIGHT, held="")


def _find_lost(shape: Shape, known: ModuleNames, layers: Collection[str]) -> AbsentTensor | None:
    """Return the first linear module that the first of equal layers lacks beside other ones.

    Other tools write several of them as one (`qkv_proj`). A layer without any other tensor lost
    some, which the count of all parameters tells.
    """
    kinds = [kind for kind, linear in shape.linear_shapes.items() if linear.count == shape.layers]
    wanted = [known.linear(kind, 0) + _WEIGHT for kind in kinds if kind in known.linears]
    shorter = {name: name.partition(".")[2] for name in wanted}
    lost = [name for name in wanted if name not in layers and shorter[name] not in layers]
    begins = (f"{known.layers}.0.", f"{known.layers}.0.".partition(".")[2])
    others = [
        name
        for name in layers
        if name.startswith(begins)
        and name.endswith(_WEIGHT)
        and "norm" not in name
        and not {name, f"{known.layers.partition('.')[0]}.{name}"} & set(wanted)
    ]
    return AbsentTensor(tensor=lost[0], held=min(others)) if lost and others else None


def _find_absent_inside(
    config: Config, shape: Shape, names: Collection[str], head: Head
) -> AbsentTensor | None:
    """Return the missing head of a multimodal model whose class does not tie it, or None."""
    known = find_module_names(config.architecture)
    if known is None or head != "tokens" or shape.tied:
        return None
    tensor = known.head + _WEIGHT
    is_there = any(f".{name}".endswith(f".{tensor}") for name in names)
    return None if is_there else AbsentTensor(tensor=tensor, held="")


def count_lacking(config: Config, weights: Weights, head: Head) -> int:
    """Return the number of the class's parameters that the weights lack; 0 if unknown.

    Only where all headers were read, and where the table counts the class. Weights may have more:
    buffers, copies of what is tied, and layers that predict more tokens.
    """
    shape, held = config.shape, weights.parameters
    if shape is None or held is None or head != "tokens" or config.wrapper is not None:
        return 0
    if (
        config.custom_code
        or config.quantized is not None
        or not any(map(_NUMBERED.search, weights.names))
    ):
        return 0
    return max(0, shape.parameters - held)


def _spell_layers(architecture: str) -> tuple[str, tuple[str, ...]]:
    """Return the name of a tensor of the first layer, and the prefixes that such names may have.

    Nothing for a class that no table has.
    """
    known, encoder = find_module_names(architecture), encoder_table().get(architecture)
    if known is not None:
        bare = known.layers.partition(".")[2] or known.layers
        return known.linear(next(iter(known.linears)), 0) + _WEIGHT, (
            f"{known.layers}.",
            f"{bare}.",
        )
    if encoder is None:
        return "", ()
    stack, first = encoder["stack"], encoder["linears"][0]
    around = encoder["scoring"]["prefix"]
    return f"{stack}.0.{first}{_WEIGHT}", (f"{stack}.", f"{around}{stack}.")


def _embedding(config: Config, shape: Shape, sides: _Sides) -> Iterator[Misfit]:
    """Compare the token table, where there is exactly one."""
    endings = tuple(f".{name}.weight" for name in _EMBEDDINGS)
    tables = [name for name in sides if f".{name}".endswith(endings)]
    if len(tables) != 1:
        return
    rows, columns = sides[tables[0]]
    own = embedding_width(config.architecture, config.data)
    key, width = own or ("hidden_size", shape.hidden)
    for setting, said, held in (
        (key, width, columns),
        ("vocab_size", shape.vocab, rows),
    ):
        if said != held:
            yield _misfit(config, setting, tables[0], said, held)


def _layers(config: Config, shape: Shape, sides: _Sides) -> Iterator[Misfit]:
    """Compare the number of layers, then the linear modules of the first and the last of them.

    Weights with several stacks of layers, such as those of a vision tower, are not compared.
    """
    linears = dict(_linears(shape, sides))
    layers = [int(match["layer"]) for match, _ in linears.values()]
    if not layers or len({match["stack"] for match, _ in linears.values()}) > 1:
        return
    held = max(layers) + 1
    if held < shape.layers or (held > shape.layers and _MORE_LAYERS not in config.data):
        last = next(name for name, (match, _) in linears.items() if int(match["layer"]) == held - 1)
        yield _misfit(config, "num_hidden_layers", last, shape.layers, held)
    for name, (match, module) in linears.items():
        if int(match["layer"]) in (0, min(held, shape.layers) - 1):
            yield from _linear(config, shape, module, name, sides[name])


def _linears(shape: Shape, sides: _Sides) -> Iterator[tuple[str, tuple[re.Match[str], str]]]:
    """Yield the weights of linear modules, each with its place and its name in the table."""
    for name in sides:
        match = _IN_LAYER.fullmatch(name)
        if match is None:
            continue
        ends = (end for end in shape.linear_shapes if f".{match['module']}".endswith(f".{end}"))
        if (module := next(ends, None)) is not None:
            yield name, (match, module)


def _linear(
    config: Config, shape: Shape, module: str, name: str, held: tuple[int, int]
) -> Iterator[Misfit]:
    """Compare both sides of a linear module; Conv1D (GPT-2) stores the input first."""
    linear = shape.linear_shapes[module]
    words = side_keys(shape.architecture, module)
    said = (linear.in_features, linear.out_features)
    best = max((held[::-1], held), key=lambda sides: sum(map(eq, sides, said)))
    for word, wanted, found in zip(words, said, best, strict=True):
        if wanted != found:
            yield _misfit(config, word, name, wanted, found)


def _misfit(config: Config, setting: str, tensor: str, said: int, held: int) -> Misfit:
    """Return the misfit with the setting as the config spells it."""
    spelled = spell_setting(config.architecture, setting, config.data) if setting else ""
    return Misfit(setting=spelled, tensor=tensor, said=said, held=held)
