"""The values of a config at which transformers stops are those at which its classes stop."""

import ast
import importlib
import inspect
import json
import logging
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from ftc.compiler.knowledge.architectures.stopping_values import (
    code_of,
    has_window,
    list_words,
    stops,
    stops_answers,
)
from ftc.compiler.knowledge.well_known.models import all_models
from ftc.compiler.resolve.model.config import find_fault, parse
from tests.compiler.knowledge.derived_rows import CASES
from tests.compiler.knowledge.other_settings import LAYERS, list_others, shorten
from tests.compiler.knowledge.test_config_types import VALUES as TYPED
from tests.compiler.knowledge.test_config_types import list_types, reach, refused_by
from tests.tiny_tokenizers import byte_level_tokenizer

TABLE = Path(__file__).parents[3] / "compiler/knowledge/architectures/stopping_values.json"
#: Values of each letter: a key stops for the letter if it stops for all of them.
VALUES: Final[dict[str, tuple[Any, ...]]] = {
    **{letter: some for letter, some in TYPED.items() if letter != "b"},
    "1": (1,),
    "0": (0,),
    "-": (-1, -8),
    "T": (True,),
    "F": (False,),
    "d": ({}, {"0": "a"}),
    "D": ({"a": 1}, {"a": "b"}),
}
#: The values that are of a key's type, and that a class may refuse still.
OF_TYPE: Final = ("n", "0", "-")
#: Keys that ftc has rules of its own for, or that the bundle sets.
OTHER_RULES: Final = {
    *("rope_scaling", "rope_theta", "rope_parameters", "dtype", "torch_dtype", "architectures"),
    *("model_type", "attn_implementation", "_attn_implementation", "transformers_version"),
}
#: Settings of which some texts, lists or objects are right: those tried say nothing of others.
OF_SOME_VALUES: Final = {
    "cache_implementation": "s",
    "dola_layers": "sl",
    "early_stopping": "s",
    "constraints": "l",
    "exponential_decay_length_penalty": "l",
    "force_words_ids": "l",
    "compile_config": "dD",
    "sequence_bias": "ldD",
    "watermarking_config": "dD",
}
#: Lists of which the words say whether they are right.
LISTS: Final = ("layer_types", "mlp_layer_types")
#: Keys that the shared code reads of every class, where the config has them.
SHARED: Final = ("head_dim", "sliding_window")
PROMPTS: Final = ([2, 3, 4], [4, 5, 6])
ATTENTIONS: Final = "output_attentions"
SMALL: Final[dict[str, Any]] = {
    "model_type": "llama",
    "vocab_size": 320,
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
}


def common_keys() -> list[str]:
    """Return the keys that every class reads: what the base class declares, sets or takes."""
    base = importlib.import_module("transformers").PreTrainedConfig
    declared = set(inspect.signature(base.__init__).parameters)
    set_by = {name for name, each in vars(base).items() if getattr(each, "fset", None)}
    tree = ast.parse(inspect.getsource(importlib.import_module(base.__module__)))
    taken = {
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("pop", "get")
        and getattr(node.func.value, "id", "") == "kwargs"
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }
    named = {"auto_map", *LISTS}
    found = {str(key) for key in declared | set_by | taken | named} - OTHER_RULES
    return sorted(found - {"self", "kwargs"})


def run_folder(folder: Path, data: Mapping[str, Any]) -> bool:
    """Return whether a small model loads from a folder, learns, and saves a config that loads."""
    torch = importlib.import_module("torch")
    transformers = importlib.import_module("transformers")
    (folder / "config.json").write_text(json.dumps(data), encoding="utf-8")
    try:
        model = transformers.AutoModelForCausalLM.from_pretrained(
            folder, attn_implementation="sdpa", dtype=torch.float32
        )
        ids = torch.ones((1, 4), dtype=torch.long)
        model(input_ids=ids, labels=ids).loss.backward()
        model.config.save_pretrained(folder / "saved")
        transformers.AutoConfig.from_pretrained(folder / "saved")
    except Exception:  # noqa: BLE001 - each value has its own
        return False
    return True


def run_answer(folder: Path, data: Mapping[str, Any]) -> bool:
    """Return whether a small model loads with these settings, answers greedily, and is saved."""
    transformers = importlib.import_module("transformers")
    answers = importlib.import_module("ftc.runtime.evaluate.answers")  # it needs torch
    path = folder / "generation_config.json"
    path.write_text(json.dumps({"eos_token_id": 2, **data}), encoding="utf-8")
    tokenizer = transformers.AutoTokenizer.from_pretrained(byte_level_tokenizer(folder / "words"))
    try:
        model = transformers.AutoModelForCausalLM.from_pretrained(folder)
        model.save_pretrained(folder / "saved")
        transformers.AutoModelForCausalLM.from_pretrained(folder / "saved")
        answers.generate(model, tokenizer, PROMPTS, 3, answers.find_ends(model, tokenizer, []))
    except Exception:  # noqa: BLE001 - each value has its own
        return False
    finally:
        path.unlink()
    return True


def settings_of_answers() -> list[str]:
    """Return the settings that transformers gives values, and arguments that are none."""
    settings = importlib.import_module("transformers").GenerationConfig()
    return sorted(key for key in vars(settings) if not key.startswith("_"))


def run_class(data: Mapping[str, Any]) -> bool:
    """Return whether a class builds a model without memory and trains it on a few tokens."""
    torch = importlib.import_module("torch")
    transformers = importlib.import_module("transformers")
    kind = str(data["model_type"])
    try:
        config = transformers.CONFIG_MAPPING[kind](
            **{key: value for key, value in data.items() if key != "model_type"}
        )
        with torch.device("meta"):
            model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
            ids = torch.ones((1, 8), dtype=torch.long)
            model.train()(input_ids=ids, labels=ids)
    except Exception:  # noqa: BLE001 - each value has its own
        return False
    return True


def bases() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each model type with a config that its class runs."""
    kinds = [str(row["config"]["model_type"]) for rows in CASES.values() for row in rows]
    for kind in dict.fromkeys(kinds):
        if base := find_base(kind):
            yield kind, base


def find_base(kind: str) -> dict[str, Any] | None:
    """Return a config of a type that its class runs: its default one, or a case."""
    rows = [row["config"] for rows in CASES.values() for row in rows]
    cases = (shorten(config) for config in rows if config["model_type"] == kind)
    return next(filter(run_class, ({"model_type": kind, LAYERS: 2}, *cases)), None)


def stops_of(config: Any, configs: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return, for each key, the letters of values at which a class stops with all other settings.

    They are values of the key's own type: those of other types are in config_types.json.
    """
    notes = {key for each in config.__mro__ for key in vars(each).get("__annotations__", {})}
    own = [key for key in inspect.signature(config.__init__).parameters if key in notes]
    refused, common = refused_by(config), {*common_keys(), *OTHER_RULES}
    found: dict[str, str] = {}
    for key in sorted({*own, *SHARED} - common - {key for key in own if "_token_" in key}):
        letters = OF_TYPE if key in own else [each for each in VALUES if each not in "i1"]
        held = [each for each in letters if code_kind(each) not in refused.get(key, "")]
        found |= find_stopped([key], lambda data: run_any(configs, data), held)
    return found


def find_own(kind: str, base: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """Return what stops every model of a type, and what stops those with a window."""
    configs = [base, *list_others(kind, base, run_class)]
    with_window = [data for data in configs if has_window(data.get("layer_types"))] or configs
    rest = [data for data in configs if data not in with_window]
    config = importlib.import_module("transformers").CONFIG_MAPPING[kind]
    found = stops_of(config, with_window)
    own = {
        key: held
        for key, letters in found.items()
        for held in find_stopped([key], partial(run_any, rest), letters).values()
    }
    local = {
        key: "".join(each for each in letters if each not in own.get(key, ""))
        for key, letters in found.items()
    }
    return own, {key: letters for key, letters in local.items() if letters}


def run_any(bases: Iterable[Mapping[str, Any]], data: Mapping[str, Any]) -> bool:
    """Return whether a class builds and trains any of these models with a value."""
    return any(run_class({**base, **data}) for base in bases)


def read_only(config: Any) -> list[str]:
    """Return the keys that a class computes by itself: it refuses any value of them."""
    names = {
        name
        for each in config.__mro__
        for name, part in vars(each).items()
        if isinstance(part, property) and part.fset is None
    }
    names |= {other for other, name in config.attribute_map.items() if name in names}
    return sorted(name for name in names if is_computed(config, name))


def is_computed(config: Any, key: str) -> bool:
    """Return whether a class has no place for a value of a key."""
    try:
        config(**{key: 8})
    except AttributeError as error:
        return f"'{config.attribute_map.get(key, key)}'" in str(error)
    except Exception:  # noqa: BLE001 - of another key
        return False
    return False


def supports_sdpa(config: Any) -> bool:
    """Return whether the causal class of a config runs with the attention of torch, or is none."""
    causal = importlib.import_module("transformers").MODEL_FOR_CAUSAL_LM_MAPPING
    return config not in causal or causal[config]._supports_sdpa


def code_kind(letter: str) -> str:
    """Return the letter of the type."""
    return {"1": "i", "0": "i", "-": "i", "T": "b", "F": "b", "D": "d"}.get(letter, letter)


def check_layers(config: Any) -> str:
    """Return which lists of layers a class holds against its words and the number of layers.

    `l` is `layer_types`, with which transformers always looks at `mlp_layer_types` too, and `m` is
    `mlp_layer_types` without it.
    """

    def takes(**data: object) -> bool:
        try:
            config(**data)
        except Exception:  # noqa: BLE001 - each class has its own
            return False
        return True

    def checks(key: str, word: str) -> bool:
        right, long, odd = (
            {key: [kind] * number} for kind, number in ((word, 4), (word, 5), ("none", 4))
        )
        return (
            takes(num_hidden_layers=4, **right)
            and not takes(num_hidden_layers=4, **long)
            and not takes(num_hidden_layers=4, **odd)
            and not takes(**odd)
        )

    letters = zip("lm", LISTS, ("full_attention", "dense"), strict=True)
    return "".join(letter for letter, key, word in letters if checks(key, word))


def find_stopped(
    keys: Iterable[str], run: Callable[[dict[str, Any]], bool], letters: Iterable[str] = VALUES
) -> dict[str, str]:
    """Return the letters at which a run stops, for each key that has any."""
    found = {
        key: "".join(
            letter for letter in letters if not any(run({key: value}) for value in VALUES[letter])
        )
        for key in keys
    }
    return {key: stopped for key, stopped in found.items() if stopped}


@pytest.mark.prove_all
@pytest.mark.timeout(3600)
@pytest.mark.filterwarnings("ignore")
def test_the_table_is_the_real_code(tmp_path: Path, *, update_golden: bool) -> None:
    """The table is what a small model, and a model of each class, stops at."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    small = transformers.AutoModelForCausalLM.from_config(
        transformers.LlamaConfig(**SMALL), dtype=torch.float32
    )
    small.save_pretrained(tmp_path)
    assert run_folder(tmp_path, SMALL)
    every = find_stopped(common_keys(), lambda data: run_folder(tmp_path, {**SMALL, **data}))
    answers = find_stopped(settings_of_answers(), lambda data: run_answer(tmp_path, data))
    found = {kind: find_own(kind, base) for kind, base in bases()}
    own = defaultdict(dict, {kind: part for kind, (part, _) in found.items() if part})
    local = {kind: part for kind, (_, part) in found.items() if part}
    every |= dict.fromkeys(read_only(transformers.PreTrainedConfig), "".join(VALUES))
    classes = reach(list_types())
    for kind, config in classes.items():
        for key in (key for key in read_only(config) if set(VALUES) - set(every.get(key, ""))):
            own[kind][key] = "".join(VALUES)
    for kind in own:
        if not supports_sdpa(classes[kind]):
            own[kind][ATTENTIONS] = ""  # its usual attention returns them
    logging.disable(logging.NOTSET)
    module = importlib.import_module(transformers.PreTrainedConfig.__module__)
    kinds = (*module.ALLOWED_ATTN_LAYER_TYPES, *module._LEGACY_LAYER_TYPE_REMAP)
    written = {
        "source": "models of transformers 5.23.0, built and trained with each value",
        "letters": "those of config_types.json; 1 and 0 themselves, - below zero, T true, F false,"
        " D an object with a key that is no number",
        "words": {"layer_types": kinds, "mlp_layer_types": module.ALLOWED_MLP_LAYER_TYPES},
        "lists": {kind: held for kind, each in classes.items() if (held := check_layers(each))},
        "generation": {
            key: "".join(code for code in stopped if code not in OF_SOME_VALUES.get(key, ""))
            for key, stopped in answers.items()
        },
        "every": {
            key: letters.replace("l", "") if key in LISTS else letters
            for key, letters in every.items()
        },
        "own": own,
        "local": local,
    }
    if update_golden:
        TABLE.write_text(json.dumps(written, separators=(",", ":")) + "\n", encoding="utf-8")
    assert json.loads(TABLE.read_text(encoding="utf-8")) == json.loads(json.dumps(written))


def test_letters_of_values() -> None:
    """Zero, one, lower numbers and the two truth values have letters of their own."""
    values: tuple[Any, ...] = (
        3,
        1,
        0,
        -8,
        0.5,
        True,
        False,
        None,
        "a",
        [1],
        {},
        {"1": 2},
        {"a": 2},
    )
    assert "".join(map(code_of, values)) == "i10-fTFnslddD"


@pytest.mark.parametrize(
    ("kind", "key", "value", "layers", "stopped"),
    [
        ("qwen2", "id2label", ["a", "b"], None, True),
        ("qwen2", "id2label", {"0": "a"}, None, False),
        ("novel", "num_labels", "2", None, True),
        ("llama", "return_dict", False, None, True),
        ("llama", "layer_types", "full_attention", None, True),
        ("llama", "layer_types", ["full_attention"], None, False),
        ("bamba", "layer_types", ["mamba", "attention"], None, True),  # which it computes
        ("mamba", "layer_types", ["mamba", "mamba"], None, True),
        ("granitemoehybrid", "layer_types", ["mamba", "attention"], None, False),
        ("qwen2_moe", "sliding_window", 0, None, False),
        ("deepseek_v2", "first_k_dense_replace", 0, None, False),
        ("gemma2", "sliding_window", 0, None, True),
        ("gemma2", "sliding_window", 512, None, False),
        ("llama", "sliding_window", "128", ["full_attention"], False),
        ("llama", "sliding_window", "128", ["sliding_attention"], True),
        ("gemma2", "output_attentions", True, None, False),
        ("llama", "output_attentions", True, None, True),
        ("falcon", "head_dim", 64, None, True),
        ("llama", "head_dim", 64, None, False),
    ],
)
def test_values_that_stop(
    kind: str, key: str, value: object, layers: object, *, stopped: bool
) -> None:
    """Of every class, of one, and of one with layers that read a window."""
    assert stops(kind, key, value, layers) is stopped


def test_settings_of_answers_that_stop() -> None:
    """A text for a number, and an argument of another function."""
    assert stops_answers("pad_token_id", "2")
    assert not stops_answers("pad_token_id", 2)
    assert stops_answers("cache_implementation", 3)
    assert not stops_answers("cache_implementation", "hybrid")  # as of Gemma 2
    assert not stops_answers("early_stopping", "never")
    assert not stops_answers("temperature", 0.5)


@pytest.mark.parametrize(
    ("kind", "key", "layers", "is_held"),
    [
        ("llama", "layer_types", None, True),
        ("llama", "mlp_layer_types", None, False),
        ("llama", "mlp_layer_types", ["full_attention"], True),
        ("cohere2_moe", "mlp_layer_types", None, True),
        ("deepseek_v4", "mlp_layer_types", None, False),
        ("deepseek_v4", "layer_types", None, False),
        ("aria", "layer_types", None, False),
        ("llama", "sliding_window", None, False),
    ],
)
def test_lists_of_layers(kind: str, key: str, layers: object, *, is_held: bool) -> None:
    """Some classes have words of their own, and a second list is read beside the first alone."""
    assert (list_words(kind, key, layers) is not None) is is_held


def find_faults(kind: str, data: Mapping[str, Any]) -> list[str]:
    """Return ftc's findings on a config; a config whose class runs should have none."""
    fault = find_fault(parse(json.dumps({**data, "model_type": kind})), "m")
    return [] if fault is None else [f"{kind}: {fault.message}"]


def test_nothing_is_said_of_published_models() -> None:
    """None of the configs that ftc carries has a fault."""
    known = [entry.config for entry in all_models()]
    known += [row["config"] for rows in CASES.values() for row in rows]
    said = [fault for data in known for fault in find_faults(str(data["model_type"]), data)]
    assert said == []


def say_wrongly(kind: str, base: Mapping[str, Any]) -> list[str]:
    """Return what ftc says of models of a type that run: other ones than the table is made of."""
    others = list_others(kind, base, run_class, seed="again", empty=False)
    return [fault for data in (base, *others) for fault in find_faults(kind, data)]


@pytest.mark.prove
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["afmoe", "ernie4_5_moe", "granitemoehybrid", "llama"])
def test_nothing_is_said_of_a_model_that_runs(kind: str) -> None:
    """Settings are changed at random; each model that its class builds and trains is right."""
    pytest.importorskip("transformers")
    base = find_base(kind)
    assert base is not None
    assert say_wrongly(kind, base) == []


@pytest.mark.prove_all
@pytest.mark.timeout(3600)
@pytest.mark.filterwarnings("ignore")
def test_nothing_is_said_of_any_model_that_runs() -> None:
    """Of all types, and of the configs that transformers writes for them by itself."""
    transformers = pytest.importorskip("transformers")
    auto = importlib.import_module("transformers.models.auto.modeling_auto")
    said = [fault for kind, base in bases() for fault in say_wrongly(kind, base)]
    names = {
        *auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        *auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
    }
    for kind in sorted(names):
        try:
            written = transformers.CONFIG_MAPPING[kind]().to_json_string(use_diff=False)
        except Exception:  # noqa: BLE001, S112 - each class has its own
            continue
        said += find_faults(kind, json.loads(written))
    assert said == []
