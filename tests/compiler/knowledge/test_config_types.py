"""Which values of a config's keys transformers refuses is what its own classes refuse."""

import inspect
import json
import warnings
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Final

import pytest

from ftc.compiler.knowledge.config_types import find_refused, kind_of

TABLE = Path(__file__).parents[3] / "compiler" / "knowledge" / "config_types.json"
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
            kind for kind, some in VALUES.items() if all(refuses(config, key, one) for one in some)
        )
        if refused and refused != "".join(VALUES):
            found[key] = refused
    return found


def _notes(part: Any) -> dict[str, Any]:
    return dict(vars(part).get("__annotations__", {}))


@pytest.mark.prove_all
@pytest.mark.filterwarnings("ignore")
def test_the_table_is_the_real_code(*, update_golden: bool) -> None:
    """Every causal class; what most classes refuse of a key is written once."""
    auto = pytest.importorskip("transformers.models.auto")
    causal = json.loads(TABLE.with_name("causal_types.json").read_text(encoding="utf-8"))["types"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        real = {
            kind: refused_by(auto.configuration_auto.CONFIG_MAPPING[kind])
            for kind in sorted(causal)
        }
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for keys in real.values():
        for key, refused in keys.items():
            counts[key][refused] += 1
    common = {key: said.most_common(1)[0][0] for key, said in sorted(counts.items())}
    written = {
        "source": "the configs of the causal classes of transformers 5.23.0",
        "kinds": "i whole number, f other number, b truth value, s text, l list, d object, n null",
        "common": common,
        "models": {
            kind: {
                "keys": sorted(keys),
                "other": {key: said for key, said in keys.items() if said != common[key]},
            }
            for kind, keys in real.items()
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
