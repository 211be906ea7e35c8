"""Rows of the data are tried on the tokenizer as transformers would load it."""

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.pipeline import check
from ftc.compiler.resolve.content.lost_text import add_round_trips, try_round_trip
from ftc.compiler.resolve.model.tokenizer_files import (
    find_class,
    load_tokenizer,
    read_tokenizer_config,
)
from ftc.compiler.resolve.rows.example import Example
from ftc.compiler.resolve.tokenizer.conversion import loaded_as
from ftc.runtime.tokenizer.round_trip import RoundTrip
from tests.runtime.compare.test_same_tokens import TEMPLATE
from tests.tiny_tokenizers import byte_level_tokenizer, sentencepiece_tokenizer

TEXT = "the order is late\non Monday: the  parcel, ca\u00f1\u00f3n \U0001f600"
CONFIG = {
    "architectures": ["Qwen2ForCausalLM"],
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "max_position_embeddings": 512,
    "vocab_size": 320,
    "torch_dtype": "bfloat16",
}


def write_class(folder: Path, name: str | None) -> None:
    """Say the class of a tokenizer, or nothing of it."""
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_bytes()) | {"tokenizer_class": name}
    path.write_text(json.dumps({key: value for key, value in config.items() if value is not None}))


def try_texts(folder: Path, model_type: str, *texts: str) -> RoundTrip:
    """Try texts, each of them a row."""
    loaded, config = load_tokenizer(folder, template=None), read_tokenizer_config(folder)
    name = find_class(
        loaded.tokenizer, model_type=model_type, tokenizer_class=config.tokenizer_class
    )
    examples = [Example(turns=(("user", text), ("assistant", "late"))) for text in texts]
    return try_round_trip(examples, loaded, name, labelled=False)


@pytest.mark.parametrize("model_type", ["llama", "mistral", "qwen2", "qwen3", "gpt2", "phi3"])
@pytest.mark.parametrize("name", ["Qwen2Tokenizer", "GPT2Tokenizer", "PreTrainedTokenizerFast"])
@pytest.mark.parametrize("kind", ["sentencepiece", "byte level"])
def test_it_reads_as_transformers_does(
    tmp_path: Path, kind: str, name: str, model_type: str
) -> None:
    """The same tokens and the same text come back, whatever class the pinned release chooses."""
    transformers = pytest.importorskip("transformers")
    write = sentencepiece_tokenizer if kind == "sentencepiece" else byte_level_tokenizer
    folder = write(tmp_path)
    write_class(folder, name)
    (folder / "config.json").write_text(json.dumps({"model_type": model_type}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        real: Any = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer = load_tokenizer(folder, template=None).tokenizer
    chosen = find_class(tokenizer, model_type=model_type, tokenizer_class=name)
    ids = real(TEXT, add_special_tokens=False)["input_ids"]
    saved = tokenizer.to_str()

    with loaded_as(tokenizer, chosen):
        ours = tokenizer.encode(TEXT, add_special_tokens=False).ids
        back = tokenizer.decode(ours, skip_special_tokens=False)

    assert ours == ids
    assert back == real.decode(ids, clean_up_tokenization_spaces=False)
    assert tokenizer.to_str() == saved, "the tokenizer is what it was"


def test_a_sentencepiece_tokenizer_of_a_qwen2(tmp_path: Path) -> None:
    """Its class is Qwen2Tokenizer whatever its file says: spaces and line breaks are lost."""
    found = try_texts(sentencepiece_tokenizer(tmp_path), "qwen2", TEXT, "late")

    assert (found.rows, found.torn_rows, found.other_rows) == (2, 1, 2)
    assert {" ", "\n", "\u00f1", "\U0001f600"} <= set(found.lost)


def test_the_same_files_of_a_llama(tmp_path: Path) -> None:
    """Byte fallback brings everything back, but for the space before the text."""
    found = try_texts(sentencepiece_tokenizer(tmp_path), "llama", TEXT, "late")

    assert found == RoundTrip(rows=2, lost={}, torn_rows=0, other_rows=0)


def test_rows_are_drawn_from_all_of_the_data(tmp_path: Path) -> None:
    """At most a thousand of them, evenly, so that a loss in the last ones is seen as well."""
    folder = sentencepiece_tokenizer(tmp_path)
    found = try_texts(folder, "qwen2", *["late"] * 3000, *[TEXT] * 1500)

    assert 750 <= found.rows <= 1000
    assert found.torn_rows == pytest.approx(found.rows / 3, abs=2)


def test_sources_are_added_up() -> None:
    """An untried source adds nothing; if no source was tried, there is no result."""
    part = RoundTrip(rows=10, lost={" ": 3, "x": 1}, torn_rows=3, other_rows=4)

    assert add_round_trips([None, None]) is None
    assert add_round_trips([part, None, part]) == RoundTrip(
        rows=20, lost={" ": 6, "x": 2}, torn_rows=6, other_rows=8
    )


@pytest.mark.parametrize(
    ("model_type", "name", "code", "remedy"),
    [
        ("qwen2", "LlamaTokenizer", "FTC168", "always loads `Qwen2Tokenizer`"),
        ("qwen3", "Qwen2Tokenizer", "FTC168", "set `tokenizer_class` to `PreTrainedTokenizerFast`"),
        ("qwen3", "PreTrainedTokenizerFast", None, ""),
    ],
)
def test_check_says_it(
    tmp_path: Path, model_type: str, name: str, code: str | None, remedy: str
) -> None:
    """From a folder and rows alone: what is lost, in how many rows, and what to do."""
    folder = sentencepiece_tokenizer(tmp_path / "model")
    write_class(folder, name)
    settings = json.loads((folder / "tokenizer_config.json").read_bytes())
    settings["chat_template"] = TEMPLATE
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    arch = {"qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM"}[model_type]
    config = {**CONFIG, "model_type": model_type, "architectures": [arch], "head_dim": 64}
    (folder / "config.json").write_text(json.dumps(config))
    header = b'{"w": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]}}'
    data = len(header).to_bytes(8, "little") + header + bytes(8)
    (folder / "model.safetensors").write_bytes(data)
    rows = [{"prompt": f"the order {n}\nis late", "completion": "on Monday"} for n in range(40)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    spec = {"name": "t", "model": "./model", "data": "rows.jsonl", "hardware": "cpu"}
    (tmp_path / "spec.json").write_text(json.dumps(spec))

    found = {finding.code: finding for finding in check(str(tmp_path / "spec.json")).findings}

    assert found.keys() & {"FTC168", "FTC169", "FTC170"} == ({code} if code else set())
    if code is not None:
        said = "loses spaces between words and line breaks in 40 of 40 rows"
        assert said in found[code].message
        assert found[code].severity == "error"
        assert remedy in found[code].help
