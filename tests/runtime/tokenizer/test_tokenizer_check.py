"""prepare.py tries the tokenizer that transformers loads on the rows that it has written."""

import json
from pathlib import Path
from typing import Any

import pytest

from ftc.runtime.run import Run
from ftc.runtime.tokenizer import tokenizer_match
from ftc.runtime.tokenizer.saved_tokenizer import find_tokenizer_file
from ftc.runtime.tokenizer.tokenizer_check import compare
from tests.tiny_tokenizers import sentencepiece_tokenizer

TEXT = "the order is late\non Monday"
HUB = "a8f1"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a stage that has not begun."""
    return Run(tmp_path, stage="prepare")


def load(folder: Path, model_type: str, name: str) -> Any:
    """Write a sentencepiece tokenizer, and load it as transformers does."""
    transformers = pytest.importorskip("transformers")
    sentencepiece_tokenizer(folder)
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"tokenizer_class": name}))
    (folder / "config.json").write_text(json.dumps({"model_type": model_type}))
    return transformers.AutoTokenizer.from_pretrained(folder)


def lines(*texts: str) -> list[bytes]:
    """Return records of conversations, as they lie in run/data."""
    chats = [
        [{"role": "user", "content": text}, {"role": "assistant", "content": "late"}]
        for text in texts
    ]
    return [json.dumps({"messages": chat, "input_ids": [1]}).encode() + b"\n" for chat in chats]


def test_words_that_run_together_end_the_stage(run: Run, tmp_path: Path) -> None:
    """The sentence has the class, what is lost and in how many rows."""
    tokenizer = load(tmp_path / "model", "qwen2", "LlamaTokenizer")
    said = "loads as Qwen2Tokenizer, loses (.*) in 2 of 3 rows: use the tokenizer"

    with pytest.raises(SystemExit, match=said) as ended:
        compare(run, tokenizer, None, lines(TEXT, "late", TEXT))

    assert "spaces between words" in str(ended.value)
    assert "line breaks" in str(ended.value)


def test_what_is_whole_is_counted(
    run: Run, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The same files as another model type's come back, and are read as the file is saved."""
    folder = tmp_path / "model"
    tokenizer = load(folder, "llama", "PreTrainedTokenizerFast")
    tokenizer.add_tokens(["<|new|>"])

    found = compare(run, tokenizer, find_tokenizer_file(folder, None), lines(TEXT, "<|new|>"))

    assert found == {"rows": 2, "lost": {}, "torn_rows": 0, "other_rows": 0}
    said = capfd.readouterr().out
    assert "2 rows keep their words and lines" in said
    assert "warning" not in said


def test_other_tokens_than_the_file_s_are_told(
    run: Run, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A class may read a file otherwise and lose nothing."""
    folder = tmp_path / "model"
    tokenizer = load(folder, "llama", "PreTrainedTokenizerFast")
    path = folder / "tokenizer.json"
    saved = json.loads(path.read_bytes())
    saved["normalizer"]["normalizers"].pop(0)
    path.write_text(json.dumps(saved))

    found = compare(run, tokenizer, find_tokenizer_file(folder, None), lines(TEXT, TEXT))

    assert found["other_rows"] == 2
    assert "reads 2 of 2 rows as other tokens than tokenizer.json" in capfd.readouterr().out


def test_a_model_of_the_hub_without_the_file(tmp_path: Path) -> None:
    """Neither a folder without it nor a cache that has not seen it is an error."""
    assert find_tokenizer_file(tmp_path, None) is None
    assert find_tokenizer_file("nobody/no-such-model", HUB) is None


def test_no_row_is_a_failure(run: Run, tmp_path: Path) -> None:
    """Nothing was tried, so nothing is said to be whole."""
    tokenizer = load(tmp_path / "model", "llama", "PreTrainedTokenizerFast")

    with pytest.raises(SystemExit, match="no row has a text"):
        compare(run, tokenizer, None, [])


def test_a_tried_tokenizer_is_compared_with_its_file(
    run: Run, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same is counted, other tokens are told, and another text ends the stage."""
    folder = tmp_path / "model"
    tokenizer = load(folder, "llama", "PreTrainedTokenizerFast")
    path = folder / "tokenizer.json"
    records: Any = None
    monkeypatch.setattr(tokenizer_match, "draw_lines", lambda *_: lines(TEXT, "late"))

    assert tokenizer_match.match_tokenizer(run, tokenizer, path, records, seed=1) == {
        "rows": 2,
        "other_rows": 0,
    }
    assert "warning" not in capfd.readouterr().out
    saved = json.loads(path.read_bytes())
    saved["normalizer"]["normalizers"].pop(0)
    path.write_text(json.dumps(saved))
    found = tokenizer_match.match_tokenizer(run, tokenizer, path, records, seed=1)
    assert found["other_rows"] == 2
    assert "2 of 2 rows as other tokens" in capfd.readouterr().out
    torn = load(tmp_path / "torn", "qwen2", "LlamaTokenizer")
    with pytest.raises(SystemExit, match="as Qwen2Tokenizer, decodes 1 of 2 rows differently"):
        tokenizer_match.match_tokenizer(
            run, torn, tmp_path / "torn/tokenizer.json", records, seed=1
        )
