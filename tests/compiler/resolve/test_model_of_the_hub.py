"""A model of the Hub: pinned, cached, missing, misspelt, gated, offline."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.resolve.data.facts import resolve_data
from ftc.compiler.resolve.facts import TokenizerFacts, Unknown
from ftc.compiler.resolve.model.facts import resolve_model
from ftc.compiler.resolve.tokenizer.facts import reload_tokenizer, resolve_tokenizer
from tests.compiler.resolve.resolving import code, known_model

COMMIT = "a" * 40


def test_the_hub_gives_a_pinned_commit(
    make_spec: Any, tmp_path: Path, hub: Any, model_files: dict[str, bytes]
) -> None:
    """Small files are fetched and weights never; the second time nothing is asked."""
    weights = {"model.safetensors": b"x" * 1000, "modeling.py": b"raise SystemExit"}
    hub.add("models/owner/tiny", model_files | weights, cardData={"license": "mit"})
    spec = make_spec(model="owner/tiny")
    facts = known_model(spec, tmp_path)
    assert (facts.origin, facts.revision, facts.path) == ("hub", COMMIT, None)
    assert (facts.licence, facts.weights_bytes, facts.gated) == ("mit", 1000, False)
    asked = " ".join(hub.requests)
    assert "model.safetensors" not in asked
    assert "modeling.py" not in asked
    tokenizer = resolve_tokenizer(spec, folder=tmp_path, model=facts)
    assert isinstance(tokenizer, TokenizerFacts)
    assert tokenizer.exact
    assert reload_tokenizer(spec, tokenizer, folder=tmp_path) is not None
    count = len(hub.requests)
    pinned = known_model(make_spec(model={"id": "owner/tiny", "revision": COMMIT}), tmp_path)
    assert pinned == facts
    assert len(hub.requests) == count


def test_templates_with_names_are_fetched(
    make_spec: Any, tmp_path: Path, hub: Any, model_files: dict[str, bytes]
) -> None:
    """Of a repository as of a folder, the default one counts before that of the small file."""
    default = {"additional_chat_templates/default.jinja": b"{{ messages[0].content }}"}
    other = {"additional_chat_templates/tool_use.jinja": b"", "a/b.jinja": b""}
    hub.add("models/owner/tiny", model_files | default | other)
    spec = make_spec(model="owner/tiny")
    facts = resolve_tokenizer(spec, folder=tmp_path, model=known_model(spec, tmp_path))
    assert isinstance(facts, TokenizerFacts)
    assert facts.template_sha256 == hashlib.sha256(*default.values()).hexdigest()
    assert reload_tokenizer(spec, facts, folder=tmp_path) is not None
    assert "b.jinja" not in " ".join(hub.requests)


def test_the_cache_answers_where_the_hub_does_not(
    make_spec: Any,
    tmp_path: Path,
    hub: Any,
    model_files: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Offline by wish and offline by accident both fall back on the cache; half of it is told."""
    hub.add("models/owner/tiny", model_files)
    spec = make_spec(model="owner/tiny")
    facts = known_model(spec, tmp_path)
    hub.failing = 503
    assert known_model(spec, tmp_path) == facts
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert known_model(spec, tmp_path) == facts
    (tmp_path / f"hf/hub/models--owner--tiny/snapshots/{COMMIT}/config.json").unlink()
    assert code(resolve_model(spec, folder=tmp_path)) == "FTC110"


def test_each_failure_of_the_hub_is_one_sentence(
    make_spec: Any, tmp_path: Path, hub: Any, model_files: dict[str, bytes]
) -> None:
    """Not found, gated, wrong revision, rate limit and failure have codes of their own."""
    hub.add("models/owner/gated", model_files)
    hub.gated.add("models/owner/gated")
    hub.add("models/owner/tiny", model_files)
    wrong = {"id": "owner/tiny", "revision": "v9"}
    assert code(resolve_model(make_spec(model="owner/nothing"), folder=tmp_path)) == "FTC106"
    assert code(resolve_model(make_spec(model="owner/gated"), folder=tmp_path)) == "FTC107"
    assert code(resolve_model(make_spec(model=wrong), folder=tmp_path)) == "FTC112"
    hub.failing = 429
    assert code(resolve_model(make_spec(model="owner/other"), folder=tmp_path)) == "FTC108"
    hub.failing = 500
    assert code(resolve_model(make_spec(model="owner/other"), folder=tmp_path)) == "FTC109"


def test_a_misspelt_id_gets_a_fix(make_spec: Any, tmp_path: Path, hub: Any) -> None:
    """An id close to one of the table is suggested, in the form in which it was written."""
    assert hub.endpoint
    found = resolve_model(make_spec(model="Qwen/Qwen2.5-7B-Instuct"), folder=tmp_path)
    assert isinstance(found, Unknown)
    right = "Qwen/Qwen2.5-7B-Instruct"
    assert found.finding.fix == ({"op": "replace", "path": "/model", "value": right},)
    long = {"id": "Qwen/Qwen2.5-7B-Instuct", "attention": "sdpa"}
    found = resolve_model(make_spec(model=long), folder=tmp_path)
    assert isinstance(found, Unknown)
    assert found.finding.fix[0]["value"] == {"id": right, "attention": "sdpa"}


@pytest.mark.parametrize("failing", [0, 503])
def test_a_model_as_people_say_it_gets_a_suggestion(
    make_spec: Any, tmp_path: Path, hub: Any, failing: int
) -> None:
    """With the Hub and without; a GGUF names its origin, a closed model open ones."""
    hub.failing = failing
    told = {
        "qwen 2.5 7b": ("FTC100", "Qwen/Qwen2.5-7B-Instruct"),
        "llama3": ("FTC109" if failing else "FTC106", "meta-llama/Meta-Llama-3-8B-Instruct"),
        "mistral-7b.gguf": ("FTC105", "mistralai/Mistral-7B-Instruct-v0.3"),
        "gpt-4o": ("FTC106", "such as"),
        "claude 3 opus": ("FTC106", "such as"),
    }
    for name, (expected, words) in told.items():
        found = resolve_model(make_spec(model=name), folder=tmp_path)
        assert isinstance(found, Unknown)
        assert (found.finding.code, words in found.finding.help) == (expected, True), name


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("unsloth/Qwen2.5-7B-Instruct-bnb-4bit", "Qwen/Qwen2.5-7B-Instruct"),
        ("owner/nothing-like-it", None),
    ],
)
def test_a_copy_out_of_reach_has_its_original_as_a_fix(
    make_spec: Any, tmp_path: Path, hub: Any, name: str, meant: str | None
) -> None:
    """The name says that it is quantized, and the table has its original."""
    hub.failing = 503
    found = resolve_model(make_spec(model=name), folder=tmp_path)
    assert isinstance(found, Unknown)
    assert (found.finding.code, found.finding.fix_safety) == ("FTC109", "unsafe")
    assert [step["value"] for step in found.finding.fix] == ([meant] if meant else [])


def test_the_table_stands_in_offline(
    make_spec: Any, tmp_path: Path, hub: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A well-known model is known without a network; its tokenizer is not exact."""
    hub.failing = 503
    spec = make_spec(model="Qwen/Qwen2.5-7B-Instruct")
    for wish in ("0", "1"):
        monkeypatch.setenv("HF_HUB_OFFLINE", wish)
        facts = known_model(spec, tmp_path)
        assert (facts.origin, facts.revision) == ("table", None)
        assert facts.parameters == 7_615_616_512
    tokenizer = resolve_tokenizer(spec, folder=tmp_path, model=facts)
    assert isinstance(tokenizer, TokenizerFacts)
    assert not tokenizer.exact
    assert 3 < tokenizer.chars_per_token < 6


def test_a_refused_connection_and_a_dead_proxy_are_told(
    make_spec: Any, tmp_path: Path, hub: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No server at all is a finding, not a traceback."""
    assert hub.endpoint
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert code(resolve_model(make_spec(model="owner/other"), folder=tmp_path)) == "FTC109"


def test_a_token_is_sent_and_never_kept(
    make_spec: Any,
    tmp_path: Path,
    hub: Any,
    model_files: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """HF_TOKEN goes to the Hub and into no fact, finding or file."""
    monkeypatch.setenv("HF_TOKEN", "hf_secret123")
    hub.add("models/owner/tiny", model_files)
    facts = known_model(make_spec(model="owner/tiny"), tmp_path)
    missing = resolve_model(make_spec(model="owner/nothing"), folder=tmp_path)
    assert hub.tokens == {"Bearer hf_secret123"}
    assert "hf_secret123" not in repr((facts, missing))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(b"hf_secret123" in path.read_bytes() for path in files)


def test_a_gguf_repository_is_told(make_spec: Any, tmp_path: Path, hub: Any) -> None:
    """A repository of GGUF files alone is no model to train."""
    hub.add("models/owner/tiny-GGUF", {"tiny.Q4_0.gguf": b"GGUF", "README.md": b""})
    assert code(resolve_model(make_spec(model="owner/tiny-GGUF"), folder=tmp_path)) == "FTC105"


@pytest.mark.parametrize(
    "name",
    [
        "a" * 5000,
        "./" + "a" * 5000,
        "\x00",
        "~nobody-here/x",
        "/",
        "..",
        "a/b/c",
        "a b",
        "C:\\x",
        "owner/" + "n" * 90,
        "a--b/c",
        "/dev/null",
        "x\ny",
        "-x/--y",
    ],
)
def test_names_that_no_disk_and_no_hub_can_hold(
    make_spec: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Any string ends in a finding, as a model and as data."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    spec = make_spec()
    odd = replace(spec, model=replace(spec.model, id=name), data=replace(spec.data, source=name))
    model = resolve_model(odd, folder=tmp_path)
    assert isinstance(model, Unknown)
    assert code(model).startswith("FTC1")
    assert code(resolve_data(odd, folder=tmp_path, tokenizer=model)).startswith("FTC2")
