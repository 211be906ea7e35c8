"""Other settings of a class's config: those with which its models are published, and others.

A value at which one model stops may be right in another: nothing reads the number of experts of a
model without any. So each value is tried beside other settings too.
"""

import ast
import importlib
import inspect
import json
import random
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

from ftc.compiler.knowledge.well_known.models import all_models
from tests.compiler.knowledge.derived_rows import CASES

LAYERS: Final = "num_hidden_layers"
Data = dict[str, Any]
Run = Callable[[Data], bool]

_TABLE: Final = Path(__file__).parents[3] / "compiler/knowledge/architectures"
_WORDS: Final[dict[str, list[str]]] = json.loads(
    (_TABLE / "stopping_values.json").read_text(encoding="utf-8")
)["words"]
#: Settings that every run has as they are: the scripts write answers with a cache.
_FIXED: Final = (LAYERS, "use_cache", "vocab_size", "dtype", "torch_dtype")
#: Parts of the names of settings that count layers: of them small numbers are tried.
_OF_LAYERS: Final = ("layer", "first_k", "interval", "step", "period", "every")
#: How many published configs of a type are tried at most.
_MOST: Final = 10
#: How many settings are changed at once at most, and how often each of them is.
_CHANGED: Final = 8
_ROUNDS: Final = 2


def list_others(
    kind: str, base: Mapping[str, Any], run: Run, *, seed: str = "", empty: bool = True
) -> list[Data]:
    """Return configs of a type that run, each with other settings than the others.

    The same configs are returned for the same base and seed. Published ones come first. `empty`:
    sizes of 0 are tried too. A model without memory runs with several of them, and no other does.
    """
    found = [data for data in published(kind) if run(data)]
    rng = random.Random(kind + seed)  # noqa: S311 - only the order
    tried = [each for each in changes(kind, base) if empty or not _is_empty(*each)]
    choices = tried * _ROUNDS
    rng.shuffle(choices)
    for _ in range(_ROUNDS):
        data, changed, later = dict(base), set[str](), []
        for key, value in choices:
            if key in changed or not run({**data, key: value}):
                later.append((key, value))
                continue
            data |= {key: value}
            changed.add(key)
            if len(changed) == _CHANGED:
                found.append(data)
                data, changed = dict(base), set()
        found += [data] if changed else []
        choices = later
    return found


def published(kind: str) -> Iterator[Data]:
    """Yield configs of published models of a type, with few layers."""
    rows = [row["config"] for rows in CASES.values() for row in rows]
    known = (*rows, *(entry.config for entry in all_models()))
    yield from islice((shorten(each) for each in known if each.get("model_type") == kind), _MOST)


def shorten(config: Mapping[str, Any]) -> Data:
    """Return a config with two layers, and as many entries in each list of layers."""
    layers = config.get(LAYERS)
    return {
        key: value[:2] if isinstance(value, list) and len(value) == layers else value
        for key, value in {**config, LAYERS: 2}.items()
    }


def changes(kind: str, base: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield settings of a model type whose values differ from those of its base config."""
    config = importlib.import_module("transformers").CONFIG_MAPPING[kind]
    held = config(**{key: value for key, value in base.items() if key != "model_type"})
    notes = {
        key: str(note)
        for each in config.__mro__
        for key, note in vars(each).get("__annotations__", {}).items()
    }
    keys = {key for key in inspect.signature(config.__init__).parameters if key in notes}
    common = inspect.signature(importlib.import_module("transformers").PreTrainedConfig.__init__)
    layers, texts = base.get(LAYERS, 2), list_texts(config)
    for key in sorted({*keys, "layer_types"} - {*_FIXED, *common.parameters}):
        value, note = vars(held).get(key), notes.get(key, "list")
        for other in _others(key, value, note, texts, layers):
            if other != value or type(other) is not type(value):
                yield key, other


def _is_empty(key: str, value: object) -> bool:
    return value == 0 and key.endswith(("_size", "_dim", "heads"))


def _others(key: str, value: object, note: str, texts: list[str], layers: int) -> Iterator[Any]:
    is_of_layers = any(part in key for part in _OF_LAYERS)
    if "None" in note:
        yield None
    if isinstance(value, bool) or "bool" in note:
        yield from (True, False)
    elif isinstance(value, int | float) or "int" in note:
        yield from (0, 1, 2, layers, 64) if is_of_layers else (0,)
    if ("str" in note or "Literal" in note) and "act" not in key and "list" not in note:
        yield from texts
    if isinstance(value, list) or "list" in note:
        yield []
        kinds = [kind for kinds in _WORDS.values() for kind in kinds] if is_of_layers else []
        yield from ([each] * layers for each in (*kinds, 0, 1))


def list_texts(config: Any) -> list[str]:
    """Return the texts that the files of a class compare something with."""
    found = set()
    own = Path(inspect.getfile(config))
    for path in (own, own.with_name(own.name.replace("configuration_", "modeling_"))):
        if not path.is_file():
            continue  # the models of another type are its own
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found |= {
            part.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Compare)
            for part in ast.walk(node)
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        }
    return sorted(found)
