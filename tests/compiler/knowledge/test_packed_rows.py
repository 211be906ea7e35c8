"""Which architectures keep packed rows apart, held against the real classes of transformers."""

import json
import re
from contextlib import suppress
from dataclasses import fields
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

from benchmarks.wrapped import list_wrappers, make_case
from ftc.compiler.knowledge.architectures.architecture import keeps_packed_rows_apart, supports_sdpa
from ftc.compiler.knowledge.architectures.derived import is_recurrent
from ftc.compiler.rehearse.miniature import shrink

CASES: Final[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "architecture_cases.json").read_text(encoding="utf-8")
)
NO_TOKENS: Final = dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"))
SIZES: Final = (7, 9, 5)
ROUNDING: Final = 1e-4
DERIVED_ROUNDING: Final = 1e-3  # Granite multiplies its residuals
ROOT: Final = Path(__file__).parents[3]
WRAPPERS: Final = list_wrappers()
BASES: Final[dict[str, Any]] = json.loads(
    (ROOT / ".ci/architecture_bases.json").read_text(encoding="utf-8")
)
SOME_DERIVED: Final = tuple(BASES)[::6]
#: Two classes that keep rows apart, and two that do not.
MIXING_SAMPLE: Final = (
    *("Gemma3ForConditionalGeneration", "Qwen2_5_VLForConditionalGeneration"),
    *("Glm4vForConditionalGeneration", "PaliGemmaForConditionalGeneration"),
)
TOKEN_ID: Final = re.compile(r".*_token_(id|index)")
OTHER_TOKEN: Final = 3  # below those of the rows


@pytest.mark.prove
def test_packed_rows_are_apart_where_the_table_says_so() -> None:
    """Three rows packed into one have the logits that each has alone, or clearly have not.

    Positions that begin anew are all that tells them apart, as in the generated train.py.
    """
    pytest.importorskip("torch")
    found = {name: look(name, CASES[name][-1]["config"]) for name in sorted(CASES)}

    apart = {name: difference < ROUNDING for name, difference in found.items()}
    assert apart == {name: keeps_packed_rows_apart(name) for name in CASES}
    assert min(found[name] for name, kept in apart.items() if not kept) > 100 * ROUNDING
    assert keeps_packed_rows_apart("NoSuchForCausalLM") is None


@pytest.mark.prove
def test_packed_rows_of_some_derived_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for the classes whose sizes are derived: a state leaks, and so does Afmoe."""
    pytest.importorskip("transformers")
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    for name in SOME_DERIVED:
        assert_derived(name)


@pytest.mark.prove_all
@pytest.mark.parametrize("name", [name for name in BASES if name not in SOME_DERIVED])
def test_packed_rows_of_every_derived_class(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for all others."""
    pytest.importorskip("transformers")
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    assert_derived(name)


def assert_derived(name: str) -> None:
    """Hold the table against a miniature of a class of the generator."""
    transformers: Any = import_module("transformers")
    margins: Any = import_script("layer_margins")
    builds: Any = import_script("builds")
    base = BASES[name]
    config = margins.miniature(base)
    known = fields(transformers.CONFIG_MAPPING[base["type"]])
    tokens = {f.name: 0 for f in known if f.name in NO_TOKENS and needs_token(f)}
    given = {**config, **NO_TOKENS, **tokens}
    outer = base.get("inside")
    if outer is None:
        settings = transformers.AutoConfig.for_model(base["type"], **given)
    else:  # a language model that exists only inside a wrapper
        whole = transformers.CONFIG_MAPPING[outer]
        around = builds.surroundings(base, given)
        texts = given if outer == base["type"] else {"text_config": given}
        settings = whole(**{**texts, **around})
        settings = settings.get_text_config() if "auto" in base else settings
    difference = differ(base.get("loads", name), settings)
    if keeps_packed_rows_apart(name):
        assert difference < DERIVED_ROUNDING
    else:
        assert difference > 100 * DERIVED_ROUNDING


@pytest.mark.prove
@pytest.mark.parametrize("name", MIXING_SAMPLE)
def test_packed_rows_of_a_wrapper(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The class around a language model decides what becomes of its position ids."""
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    assert_wrapper(name, tmp_path)


@pytest.mark.prove_all
@pytest.mark.parametrize("name", sorted(WRAPPERS.keys() - {*MIXING_SAMPLE}))
def test_packed_rows_of_every_wrapper(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same for every class of the table that has a miniature."""
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    assert_wrapper(name, tmp_path)


def assert_wrapper(name: str, folder: Path) -> None:
    """Hold the table against a miniature of a multimodal class, without an image."""
    transformers: Any = pytest.importorskip("transformers")
    entry = WRAPPERS[name]
    wrappers: Any = import_script("wrappers")
    small: Any = shrink(make_case(name).config)
    for section in (small, small.get("text_config", small)):
        named = [key for key, value in section.items() if TOKEN_ID.fullmatch(key) and value]
        section.update(dict.fromkeys(named, OTHER_TOKEN))
    small.pop("architectures", None)
    written = folder / "config.json"  # where an infinite number is an object
    written.write_text(json.dumps(small), encoding="utf-8")
    settings = transformers.CONFIG_MAPPING[small["model_type"]].from_json_file(written)
    with wrappers.without_towers_of_timm():  # no row has an image
        if entry["loads"] == "text":
            difference = differ(entry["text"], settings.get_text_config())
        else:
            difference = differ(name, settings)
    if keeps_packed_rows_apart(entry["text"], name):
        assert difference < DERIVED_ROUNDING
    elif not is_recurrent(entry["text"]):  # the miniature of a hybrid may have attention alone
        assert difference > 100 * DERIVED_ROUNDING


def needs_token(key: Any) -> bool:
    """Return whether a class cannot do without a token: some count positions by their padding."""
    return key.type in (int, "int") or (key.name == "pad_token_id" and type(key.default) is int)


def import_script(name: str) -> ModuleType:
    """Import a script of `.ci`."""
    spec = spec_from_file_location(name, ROOT / f".ci/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def look(name: str, config: dict[str, Any]) -> float:
    """Return the largest difference of a logit, in a miniature with loud weights."""
    small = {**(shrink(config) or config), "vocab_size": 512, **NO_TOKENS}
    if name == "GPTNeoForCausalLM":
        small |= {"attention_types": [[["global", "local"], 1]]}
    model_type = small.pop("model_type")
    small.pop("architectures", None)
    transformers: Any = import_module("transformers")
    return differ(name, transformers.AutoConfig.for_model(model_type, **small))


def differ(name: str, settings: Any) -> float:
    """Return the largest difference of a logit between packed rows and each alone.

    `name` is that of the class, since some language models of wrappers have no automatic class.
    """
    torch: Any = import_module("torch")
    transformers: Any = import_module("transformers")
    torch.manual_seed(1)
    make = getattr(transformers, name)._from_config
    try:
        model = make(settings, attn_implementation="sdpa" if supports_sdpa(name) else "eager")
    except ValueError:  # of a class without attention
        model = make(settings, attn_implementation="eager")
    model.float()
    for parameter in model.eval().parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.1)
    difference = compare(model)
    if ROUNDING < difference < 100 * ROUNDING:  # as of a class that goes through its layers often
        with suppress(RuntimeError):  # of experts, whose product has no double precision
            difference = compare(model.double())
    return difference


def compare(model: Any) -> float:
    """Return the largest difference of a logit of this model between packed rows and each alone."""
    torch: Any = import_module("torch")
    rows = [torch.randint(5, 500, (1, size)) for size in SIZES]
    positions = torch.cat([torch.arange(size) for size in SIZES])[None]
    with torch.no_grad():
        alone = [model(input_ids=row, use_cache=False).logits for row in rows]
        packed = model(input_ids=torch.cat(rows, 1), position_ids=positions, use_cache=False)
    difference = torch.cat(alone, 1) - packed.logits
    return float(difference.abs().max() / packed.logits.std())


@pytest.mark.parametrize(
    ("architecture", "wrapper", "kept"),
    [
        ("GemmaForCausalLM", None, True),
        ("GemmaForCausalLM", "PaliGemmaForConditionalGeneration", False),
        ("Glm4ForCausalLM", "Glm4vForConditionalGeneration", False),
        ("Qwen2ForCausalLM", "LlavaOnevisionForConditionalGeneration", True),
    ],
)
@pytest.mark.prove
def test_a_wrapper_may_mix_rows(architecture: str, wrapper: str | None, kept: bool) -> None:
    """The class around a language model decides what becomes of its position ids."""
    assert keeps_packed_rows_apart(architecture, wrapper) is kept
