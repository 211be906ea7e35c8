"""Which values of a config's keys transformers refuses is what its own classes refuse."""

import ast
import importlib
import inspect
import json
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from ftc.compiler.knowledge.architectures.config_types import (
    find_refused,
    find_refused_inside,
    find_section,
    kind_of,
)

TABLE = Path(__file__).parents[3] / "compiler/knowledge/architectures/config_types.json"
#: Values of each kind: a key refuses the kind if it refuses all of them.
VALUES: Final[dict[str, tuple[Any, ...]]] = {
    "i": (3, 16),
    "f": (0.5, 2.0),
    "b": (True, False),
    "s": ("text", "full_attention"),
    "l": ([], [1], ["a"], [0.5], [True], [[1]]),
    "d": ({}, {"a": 1}, {"a": "b"}),
    "n": (None,),
}

#: Words of an annotation that takes some values of a kind: which ones depends on what they hold.
HOLDERS: Final = {"l": ("list", "tuple"), "d": ("dict",)}


def refuses(config: Any, key: str, value: object) -> bool:
    """Return whether a class refuses a value because of its type, and not for what it says."""
    strict = pytest.importorskip("huggingface_hub.errors").StrictDataclassFieldValidationError
    try:
        config(**{key: value})
    except strict as error:
        return f"'{key}'" in str(error).partition("\n")[0]
    except Exception:  # noqa: BLE001 - a value of the right type that does not fit
        return False
    return False


def refused_by(config: Any) -> dict[str, str]:
    """Return the kinds that each key of a class refuses."""
    notes = {key: str(kind) for each in config.__mro__ for key, kind in _notes(each).items()}
    keys = [key for key in inspect.signature(config.__init__).parameters if key in notes]
    found = {}
    for key in sorted(keys):
        if "Literal" in notes[key]:
            continue  # the words decide, not the type
        refused = "".join(
            kind
            for kind, some in VALUES.items()
            if not any(word in notes[key] for word in HOLDERS.get(kind, ()))
            and all(refuses(config, key, one) for one in some)
        )
        if refused and refused != "".join(VALUES):
            found[key] = refused
    return found


def refused_inside(config: Any) -> dict[str, str]:
    """Return the kinds that each key of a class refuses inside a list, where it takes lists."""
    notes = {key: str(kind) for each in config.__mro__ for key, kind in _notes(each).items()}
    keys = inspect.signature(config.__init__).parameters
    found = {}
    for key in sorted(key for key in keys if "list" in notes.get(key, "")):
        refused = "".join(
            kind
            for kind, some in VALUES.items()
            if all(refuses(config, key, [one]) for one in some)
        )
        if refused and refused != "".join(VALUES):
            found[key] = refused
    return found


def _notes(part: Any) -> dict[str, Any]:
    return dict(vars(part).get("__annotations__", {}))


def sections_of(config: Any) -> dict[str, tuple[Any, str, bool]]:
    """Return each section's class, its model type, and whether the section names another itself.

    A class without a type has the place of the section in its stead: `dbrx.ffn_config`.
    """
    mapping = importlib.import_module("transformers").CONFIG_MAPPING
    specs = getattr(config, "sub_configs_defaults", None) or {}
    plain = getattr(config, "sub_configs", None) or {}
    found = {
        key: (section, f"{config.model_type}.{key}", False)
        for key, section in plain.items()
        if key not in specs and not section.model_type
    }
    for key, spec in specs.items():
        is_open = spec.config_class.__name__ == "AutoConfig"
        found[key] = (
            mapping[spec.model_type] if is_open else spec.config_class,
            str(spec.model_type),
            is_open,
        )
    return found


def reach(types: Iterable[str]) -> dict[str, Any]:
    """Return the classes of these model types and of all their sections, by their types."""
    mapping = importlib.import_module("transformers").CONFIG_MAPPING
    waiting = [(kind, mapping[kind]) for kind in types]
    found: dict[str, Any] = {}
    while waiting:
        kind, config = waiting.pop()
        if kind in found:
            assert found[kind] is config, f"two classes of the type {kind}"
            continue
        found[kind] = config
        waiting += [(name, section) for section, name, _ in sections_of(config).values()]
    return dict(sorted(found.items()))


def list_types() -> list[str]:
    """Return the model types of all causal classes, multimodal classes and encoders."""
    causal = json.loads(TABLE.with_name("causal_types.json").read_text(encoding="utf-8"))["types"]
    wrappers = TABLE.parents[1] / "multimodal/wrappers.json"
    others = [
        entry["model_type"]
        for path in (wrappers, TABLE.with_name("derived_encoders.json"))
        for entry in json.loads(path.read_text(encoding="utf-8")).values()
    ]
    return sorted({*causal, *others})


def find_common(classes: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return what most of the classes with a key refuse."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for keys in classes:
        for key, refused in keys.items():
            counts[key][refused] += 1
    return {key: said.most_common(1)[0][0] for key, said in sorted(counts.items())}


def find_other(
    refused: Mapping[str, str], common: Mapping[str, str], keys: Iterable[str]
) -> dict[str, str]:
    """Return what of a class's keys is not common."""
    pairs = ((key, refused.get(key, "")) for key in sorted(keys) if key in common)
    return {key: said for key, said in pairs if said != common[key]}


def describe(
    refused: Mapping[str, str],
    inside: Mapping[str, str],
    common: Mapping[str, Mapping[str, str]],
    config: Any,
) -> dict[str, Any]:
    """Return the entry of a class: its keys, what is not common of them, and its sections."""
    sections = sections_of(config)
    entry: dict[str, Any] = {
        "keys": sorted(refused),
        "other": find_other(refused, common["common"], refused),
    }
    if other := find_other(inside, common["inside"], refused):
        entry["inside"] = other
    if sections:
        named = sorted(key for key, (*_, is_open) in sections.items() if is_open)
        known = [key for key in named if not takes(config, key, {"model_type": "no_such"})]
        entry["sections"] = {key: kind for key, (_, kind, _) in sorted(sections.items())}
        entry["named"] = {
            "may": named,
            "known": known,
            "must": [key for key in named if not takes(config, key, {})],
        }
        entry |= {"renamed": names} if (names := rename(config, known)) else {}
    return entry


def rename(config: Any, sections: Iterable[str]) -> dict[str, str]:
    """Return types that only this class knows and replaces by others: names in its own source."""
    mapping = importlib.import_module("transformers").CONFIG_MAPPING
    tree = ast.parse(Path(inspect.getfile(config)).read_text(encoding="utf-8"))
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    names = sorted(t for t in texts if isinstance(t, str) and t.isidentifier())
    found = {}
    for key in sections:
        for name in (name for name in names if name not in mapping):
            try:
                found[name] = str(getattr(config(**{key: {"model_type": name}}), key).model_type)
            except Exception:  # noqa: BLE001, S112 - each class has its own
                continue
    return found


def takes(config: Any, key: str, section: Mapping[str, str]) -> bool:
    """Return whether a class builds from a section, or complains of something else than its type.

    The error is one of the class's own, without a type in common with those of other classes.
    """
    try:
        config(**{key: dict(section)})
    except Exception as error:  # noqa: BLE001 - each class has its own
        return not ("no_such" in str(error) or "model_type" in str(error))
    return True


@pytest.mark.prove_all
@pytest.mark.filterwarnings("ignore")
def test_the_table_is_the_real_code(*, update_golden: bool) -> None:
    """The table equals what every class and section class rejects."""
    pytest.importorskip("transformers")
    mapping = importlib.import_module("transformers").CONFIG_MAPPING
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classes = reach(list_types())
        real = {kind: refused_by(config) for kind, config in classes.items()}
        inside = {kind: refused_inside(config) for kind, config in classes.items()}
    common = {
        "common": find_common(real.values()),
        "inside": find_common(inside.values()),
    }
    written = {
        "source": "the configs of transformers 5.23.0: causal and multimodal classes, encoders,"
        " and their sections",
        "kinds": "i whole number, f other number, b truth value, s text, l list, d object, n null",
        "types": sorted(mapping),
        **common,
        "models": {
            kind: describe(real[kind], inside[kind], common, classes[kind]) for kind in real
        },
    }
    if update_golden:
        TABLE.write_text(json.dumps(written, separators=(",", ":")) + "\n", encoding="utf-8")
    assert json.loads(TABLE.read_text(encoding="utf-8")) == written


def test_kinds_of_values() -> None:
    """A truth value is no number, and 64.0 is no whole one."""
    values: tuple[Any, ...] = (1, 64.0, True, "a", [1], {}, None)
    assert "".join(map(kind_of, values)) == "ifbsldn"


def test_a_class_refuses_what_its_fields_do_not_take() -> None:
    """Another class may take it; nothing is said of classes outside the table."""
    assert find_refused("qwen2", "hidden_size") == "fbsldn"
    assert find_refused("qwen2", "tie_word_embeddings") == "ifsldn"
    assert not find_refused("qwen2", "novel_key")
    assert not find_refused("novel", "hidden_size")


def test_a_list_holds_values_of_the_types_of_its_field() -> None:
    """Of a list without such types, nothing is known."""
    assert find_refused_inside("llama", "eos_token_id") == "fbsldn"
    assert not find_refused_inside("llama", "bos_token_id")
    assert not find_refused_inside("llama", "novel_key")
    assert not find_refused_inside("novel", "eos_token_id")


def test_a_section_without_a_type_is_known_by_its_place() -> None:
    """DBRX's activation is an object with a name, not a string."""
    section = find_section("dbrx", "ffn_config")
    assert section is not None
    assert section.read_type("") == "dbrx.ffn_config"
    assert "s" in find_refused("dbrx.ffn_config", "ffn_act_fn")
    assert "d" not in find_refused("dbrx.ffn_config", "ffn_act_fn")
