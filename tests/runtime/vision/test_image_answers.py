"""Answers about images, with the images beside them."""

from pathlib import Path
from types import SimpleNamespace

from ftc.runtime.files import write_rows
from ftc.runtime.json_lines import read_rows
from ftc.runtime.vision.image_answers import add_pictures


def test_an_answer_may_have_any_separator(tmp_path: Path) -> None:
    """Each answer stays one row."""
    answers = [{"answer": "a", "said": "first\u2028second"}, {"answer": "b", "said": "x\x85y"}]
    write_rows(tmp_path / "predictions.jsonl", answers)
    tokenizer = SimpleNamespace(
        convert_tokens_to_ids=lambda _: 5, decode=lambda ids: " ".join(map(str, ids))
    )
    images = SimpleNamespace(processor=SimpleNamespace(tokenizer=tokenizer))
    rows = [{"prompt_ids": [1, 5, 5, 2], "images": "[]"}, {"prompt_ids": [3], "images": "[]"}]

    add_pictures(tmp_path, rows, images, token="<image>")

    found = read_rows(tmp_path / "predictions.jsonl")
    assert [row["said"] for row in found] == ["first\u2028second", "x\x85y"]
    assert [row["prompt"] for row in found] == ["1 5 2", "3"]
