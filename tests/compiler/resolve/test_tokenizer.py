"""Tokenizer facts come from its files, whichever of them a model has."""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.resolve.facts import TokenizerFacts, Unknown
from ftc.compiler.resolve.model.facts import resolve_model
from ftc.compiler.resolve.model.tokenizer_files import load_tokenizer
from ftc.compiler.resolve.tokenizer.facts import reload_tokenizer, resolve_tokenizer
from ftc.spec.sections import Spec


def resolve(spec: Spec, folder: Path) -> TokenizerFacts | Unknown:
    """Resolve the model, then its tokenizer."""
    return resolve_tokenizer(spec, folder=folder, model=resolve_model(spec, folder=folder))


def known(spec: Spec, folder: Path) -> TokenizerFacts:
    """Resolve a tokenizer that is expected to be known."""
    found = resolve(spec, folder)
    assert isinstance(found, TokenizerFacts), found
    return found


def edit(folder: Path, **changes: Any) -> None:
    """Change keys of tokenizer_config.json."""
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | changes), encoding="utf-8")


def test_facts_of_a_whole_tokenizer(make_spec: Any, model_folder: Path) -> None:
    """Vocabulary, special tokens written either way, and the template's behaviour."""
    facts = known(make_spec(), model_folder.parent)
    assert facts.exact
    tokens = json.loads((model_folder / "tokenizer.json").read_bytes())["model"]["vocab"]
    assert facts.vocabulary_tokens == len(tokens)
    assert (facts.bos, facts.eos, facts.pad, facts.unk) == ("<s>", "</s>", None, "<unk>")
    assert (facts.closes_answer, facts.accepts_system, facts.prefix_stable) == (True, True, True)
    assert facts.template_sha256 is not None
    assert not facts.template_from_spec
    assert not facts.has_sentencepiece_model


def test_added_tokens_count(make_spec: Any, model_folder: Path) -> None:
    """A token that only the small files name is part of the vocabulary."""
    before = known(make_spec(), model_folder.parent).vocabulary_tokens
    added = {"9": {"content": "<|new|>", "special": True}, "1": {"content": "<s>"}}
    edit(model_folder, added_tokens_decoder=added, pad_token="<pad>")
    facts = known(make_spec(), model_folder.parent)
    assert facts.vocabulary_tokens == before + 2
    assert facts.pad == "<pad>"


def test_markers_that_are_no_tokens(make_spec: Any, model_folder: Path) -> None:
    """A template of another family writes markers that the tokenizer cuts up; its own does not."""
    folder = model_folder.parent
    assert known(make_spec(), folder).split_markers == ()
    chatml = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|></s>{% endfor %}"
    )
    (folder / "chatml.jinja").write_text(chatml, encoding="utf-8")
    spec = make_spec(model={"id": "./model", "chat_template": "chatml.jinja"})
    assert known(spec, folder).split_markers == ("<|im_end|>", "<|im_start|>")


def test_templates_in_each_of_their_places(make_spec: Any, model_folder: Path) -> None:
    """A file of its own wins over the config; a list is read by name; the spec's wins over all."""
    folder = model_folder.parent
    first = known(make_spec(), folder).template_sha256
    named = [{"name": "tool_use", "template": "x"}, {"name": "default", "template": "{{ 1 }}"}]
    edit(model_folder, chat_template=named)
    listed = known(make_spec(), folder)
    assert listed.template_sha256 not in (first, None)
    assert listed.closes_answer is False
    (model_folder / "chat_template.jinja").write_text("{{ eos_token }}", encoding="utf-8")
    own_file = known(make_spec(), folder)
    assert own_file.closes_answer is True
    assert (listed.two_templates, own_file.two_templates) == (False, True)
    edit(model_folder, chat_template="{{ eos_token }}\n")
    assert not known(make_spec(), folder).two_templates, "a last line end changes nothing"
    (folder / "mine.jinja").write_text("{{ 2 }}", encoding="utf-8")
    spec = make_spec(model={"id": "./model", "chat_template": "mine.jinja"})
    mine = known(spec, folder)
    assert mine.template_from_spec
    assert mine.template_sha256 not in (first, own_file.template_sha256)
    loaded = reload_tokenizer(spec, mine, folder=folder)
    assert loaded is not None
    assert loaded.template is not None
    assert loaded.template.render([]) == "2"


def test_a_model_without_template(make_spec: Any, model_folder: Path) -> None:
    """Nothing is said of a template that is not there."""
    edit(model_folder, chat_template=None)
    facts = known(make_spec(), model_folder.parent)
    assert facts.template_sha256 is None
    assert (facts.closes_answer, facts.accepts_system, facts.prefix_stable) == (None, None, None)


def test_no_end_token_of_the_model_s_config(make_spec: Any, model_folder: Path) -> None:
    """The tokenizer has none, so no row would end with the token of the config's id."""
    edit(model_folder, eos_token=None)
    (model_folder / "generation_config.json").write_text('{"eos_token_id": [2, 5]}')
    assert known(make_spec(), model_folder.parent).eos is None


def test_templates_of_names(model_folder: Path) -> None:
    """Files come first, the default is one of them, and rows with tools get that of tools."""
    pytest.importorskip("transformers")
    chat = [{"role": "user", "content": "x"}]
    tools = [{"type": "function", "function": {"name": "a", "parameters": {}}}]
    listed = [{"name": "default", "template": "1"}, {"name": "tool_use", "template": "2"}]
    edit(model_folder, chat_template=listed)
    steps: tuple[dict[str, str], ...] = (
        {},
        {"chat_template.jinja": "3"},
        {"additional_chat_templates/tool_use.jinja": "4"},
    )
    for files in (*steps, {"additional_chat_templates/default.jinja": "5"}):
        for name, text in files.items():
            (model_folder / name).parent.mkdir(exist_ok=True)
            (model_folder / name).write_text(text)
        read = load_tokenizer(model_folder, template=None).template
        real = importlib.import_module("transformers").AutoTokenizer.from_pretrained(model_folder)
        assert read is not None
        for offered in (None, tools):
            said = real.apply_chat_template(chat, tools=offered, tokenize=False)
            assert read.render(chat, tools=offered) == said, (files, offered)


def test_sentencepiece_alone_is_an_estimate(make_spec: Any, model_folder: Path) -> None:
    """Without tokenizer.json lengths rest on a ratio."""
    (model_folder / "tokenizer.json").rename(model_folder / "tokenizer.model")
    facts = known(make_spec(), model_folder.parent)
    assert not facts.exact
    assert facts.has_sentencepiece_model
    assert (facts.eos, facts.vocabulary_tokens) == ("</s>", 320)
    assert 2 < facts.chars_per_token < 6
    assert reload_tokenizer(make_spec(), facts, folder=model_folder.parent) is None


def test_a_tokenizer_in_mistral_s_format_is_named(make_spec: Any, model_folder: Path) -> None:
    """Transformers reads the pieces of tekken.json, without the end token."""
    (model_folder / "tokenizer.json").rename(model_folder / "tekken.json")
    found = resolve(make_spec(), model_folder.parent)
    assert isinstance(found, Unknown)
    assert "only in Mistral's own format" in found.finding.message


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("tokenizer.json", b"{", "FTC114"),
        ("tokenizer.json", None, "FTC113"),
        ("tokenizer_config.json", b"{", "FTC114"),
        ("tokenizer_config.json", b"[]", "FTC114"),
        ("chat_template.jinja", b"{% for %}", "FTC116"),
        ("chat_template.jinja", b"\xff", "FTC114"),
    ],
)
def test_broken_files_are_one_finding_each(
    make_spec: Any, model_folder: Path, name: str, data: bytes | None, expected: str
) -> None:
    """A broken or missing file is told by its own code."""
    path = model_folder / name
    path.unlink(missing_ok=True)
    if data is not None:
        path.write_bytes(data)
    found = resolve(make_spec(), model_folder.parent)
    assert isinstance(found, Unknown)
    assert found.finding.code == expected


def test_the_spec_s_own_template_is_looked_for(make_spec: Any, model_folder: Path) -> None:
    """A missing or broken template of the spec points at the spec's field."""
    folder = model_folder.parent
    spec = make_spec(model={"id": "./model", "chat_template": "mine.jinja"})
    for data, expected in ((None, "FTC115"), (b"\xff", "FTC115"), (b"{% if %}", "FTC116")):
        if data is not None:
            (folder / "mine.jinja").write_bytes(data)
        found = resolve(spec, folder)
        assert isinstance(found, Unknown)
        assert found.finding.code == expected
        assert found.finding.pointer == "/model/chat_template"


def test_an_unknown_model_is_the_only_cause(make_spec: Any, tmp_path: Path) -> None:
    """The tokenizer of a model that is not there is unknown for the same reason."""
    model = resolve_model(make_spec(), folder=tmp_path)
    assert resolve_tokenizer(make_spec(), folder=tmp_path, model=model) is model


def test_new_tokens_that_are_there_already(make_spec: Any, model_folder: Path) -> None:
    """Those of the vocabulary, and those that the template writes."""
    edit(model_folder, chat_template="<plan>{{ messages[0].content }}")
    model = {"id": "./model", "new_tokens": ["</s>", "<plan>", "<tool>"]}
    facts = known(make_spec(model=model), model_folder.parent)
    assert facts.existing_tokens == ("</s>",)
    assert facts.template_tokens == ("<plan>",)


ZEPHYR = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>\n' + message['content'] "
    "+ eos_token + '\n' }}{% if loop.last and add_generation_prompt %}{{ '<|assistant|>\n' }}"
    "{% endif %}{% endfor %}"
)


def test_a_template_is_probed_where_no_token_is_at_hand(
    make_spec: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A template that adds `eos_token` refuses nothing only because the table has no tokens."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "none"))
    (tmp_path / "zephyr.jinja").write_text(ZEPHYR, encoding="utf-8")
    spec = make_spec(model={"id": "HuggingFaceH4/zephyr-7b-beta", "chat_template": "zephyr.jinja"})
    facts = known(spec, tmp_path)
    assert not facts.exact
    assert facts.closes_answer is None
    assert (facts.accepts_system, facts.prefix_stable) == (True, True)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model_max_length": "512"}, "`model_max_length`"),
        ({"padding_side": "middle"}, "`padding_side`"),
        ({"truncation_side": None}, "`truncation_side`"),
        ({"split_special_tokens": "no"}, "`split_special_tokens`"),
        ({"auto_map": None}, "`auto_map`"),
        ({"eos_token": {"content": "</s>"}}, "`eos_token`"),
        ({"additional_special_tokens": [{"content": "<a>"}]}, "`additional_special_tokens`"),
        ({"added_tokens_decoder": {"5": {"content": 5}}}, "`added_tokens_decoder`"),
        ({"tokenizer_class": 5}, "`tokenizer_class`"),
        ({"eos_token": ["</s>"]}, "`eos_token`"),
        ({"extra_special_tokens": "<a>"}, "`extra_special_tokens`"),
        ({"added_tokens_decoder": ["<a>"]}, "`added_tokens_decoder`"),
        ({"added_tokens_decoder": {"x": {"content": "<a>"}}}, "`added_tokens_decoder`"),
        ({"added_tokens_decoder": {"5": "<a>"}}, "`added_tokens_decoder`"),
    ],
)
def test_values_that_transformers_stops_at(
    make_spec: Any, model_folder: Path, changes: dict[str, Any], words: str
) -> None:
    """The real class raises for the same."""
    edit(model_folder, **changes)
    found = resolve(make_spec(), model_folder.parent)
    assert isinstance(found, Unknown)
    assert (found.finding.code, words in found.finding.message) == ("FTC114", True)
    transformers = pytest.importorskip("transformers")
    with pytest.raises((TypeError, ValueError, AttributeError)):
        transformers.AutoTokenizer.from_pretrained(model_folder)("hello")


def test_a_file_that_truncates_and_pads(make_spec: Any, model_folder: Path) -> None:
    """The tokenizer of transformers does neither unless it is asked to at a call."""
    path = model_folder / "tokenizer.json"
    saved = json.loads(path.read_bytes())
    saved["truncation"] = {
        "direction": "Right",
        "max_length": 2,
        "strategy": "LongestFirst",
        "stride": 0,
    }
    path.write_text(json.dumps(saved), encoding="utf-8")
    loaded = reload_tokenizer(
        make_spec(), known(make_spec(), model_folder.parent), folder=model_folder.parent
    )
    assert loaded is not None
    assert len(next(loaded.encode(["one two three four five six"], special=False)).ids) > 2


def test_a_default_template_in_the_folder_of_templates(make_spec: Any, model_folder: Path) -> None:
    """It is used where there is no other."""
    path = model_folder / "tokenizer_config.json"
    said = json.loads(path.read_bytes())
    folder = model_folder / "additional_chat_templates"
    folder.mkdir()
    (folder / "default.jinja").write_text(said.pop("chat_template"), encoding="utf-8")
    path.write_text(json.dumps(said), encoding="utf-8")
    assert known(make_spec(), model_folder.parent).template_sha256 is not None
