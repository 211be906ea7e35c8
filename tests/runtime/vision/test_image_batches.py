"""Rows with images as a small LLaVA reads them, and what is kept of their answers."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
pytest.importorskip("PIL")
from PIL import Image  # noqa: E402 - a part of an extra

from ftc.runtime.ask import ask_image_model  # noqa: E402
from ftc.runtime.files import read_rows, write_rows  # noqa: E402
from ftc.runtime.vision import image_answers  # noqa: E402
from ftc.runtime.vision.image_batches import ImageReader, fill  # noqa: E402
from ftc.runtime.vision.image_store import note_folder  # noqa: E402
from ftc.runtime.vision.image_tokens import repeat_tokens, unrepeat_tokens  # noqa: E402
from tests.tiny_seeing import RULE, TOKEN, write_images, write_llava  # noqa: E402

NUMBER = 259  # of the placeholder
Rows = list[dict[str, Any]]


@pytest.fixture(name="llava", scope="module")
def _llava(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_llava(tmp_path_factory.mktemp("llava"))


@pytest.fixture(name="references", scope="module")
def _references(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """Return run/data of a bundle, and the references of twenty images."""
    folder = tmp_path_factory.mktemp("images")
    found = write_images(folder / "files", 20)
    note_folder(folder / "data", folder / "files")
    return folder / "data", found


@pytest.fixture(name="reader", scope="module")
def _reader(llava: Path, references: tuple[Path, Any]) -> ImageReader:
    return ImageReader(llava, references[0], rule=RULE)


def make_row(found: Rows, places: list[int], text: str) -> dict[str, Any]:
    """Return the record of a text after some images."""
    ids = [1, *[NUMBER] * 4 * len(places), *(3 + byte for byte in text.encode())]
    return {
        "input_ids": ids,
        "labels": [-100] * (len(ids) - 2) + ids[-2:],
        "images": json.dumps([found[place] for place in places]),
    }


@pytest.fixture(name="rows", scope="module")
def _rows(references: tuple[Path, Rows]) -> Rows:
    """Return rows of two images, of none and of one."""
    parts = [([0, 1], "short"), ([], "no image"), ([2], "a longer text")]
    return [make_row(references[1], places, text) for places, text in parts]


@settings(max_examples=50)
@given(
    st.lists(st.lists(st.integers(0, 9), max_size=5), min_size=1), st.sampled_from([True, False])
)
def test_rows_become_one_tensor(lists: list[list[int]], left: bool) -> None:
    """The value is at one side only, and every row is whole."""
    width = max(map(len, lists)) + 1
    found = fill(lists, -1, width, left=left).tolist()

    for row, ids in zip(found, lists, strict=True):
        more = [-1] * (width - len(ids))
        assert row == ([*more, *ids] if left else [*ids, *more])


def test_a_batch_has_tokens_labels_and_all_images(reader: ImageReader, rows: Rows) -> None:
    """Padding has no label and is not attended to; without a token for it, it is the end."""
    batch = reader.collate(rows)

    width = max(len(row["input_ids"]) for row in rows)
    for place, row in enumerate(rows):
        size = len(row["input_ids"])
        assert batch["input_ids"][place].tolist() == row["input_ids"] + [2] * (width - size)
        assert batch["labels"][place].tolist() == row["labels"] + [-100] * (width - size)
        assert batch["attention_mask"][place].tolist() == [1] * size + [0] * (width - size)
    assert batch["pixel_values"].shape == (3, 3, 28, 28)


def test_rows_without_images_have_no_pixels(reader: ImageReader, rows: Rows) -> None:
    """A batch may have no image at all."""
    assert "pixel_values" not in reader.collate(rows[1:2])


def test_a_batch_costs_what_its_rows_cost_alone(
    reader: ImageReader, rows: Rows, llava: Path
) -> None:
    """The model sees each image in its own row."""
    model: Any = reader.model_class.from_pretrained(llava)
    model.eval()
    with torch.inference_mode():
        together = model(**reader.collate(rows)).logits
        for place, row in enumerate(rows):
            alone = model(**reader.collate([row])).logits[0]
            assert torch.allclose(together[place, : len(alone)], alone, atol=1e-4)


def test_pairs_have_the_images_twice(reader: ImageReader, rows: Rows) -> None:
    """First with the better answers, then with the worse ones, of which the answer is learned."""
    pairs = [
        {"prompt_ids": row["input_ids"], "chosen_ids": [7, 8], "rejected_ids": [9], **row}
        for row in rows
    ]
    batch = reader.collate_pairs(pairs)

    assert batch["input_ids"].shape[0] == 6
    assert batch["completion_mask"].sum(1).tolist() == [2, 2, 2, 1, 1, 1]
    assert batch["pixel_values"].shape[0] == 6
    assert torch.equal(batch["pixel_values"][:3], batch["pixel_values"][3:])
    first = batch["input_ids"][0][batch["completion_mask"][0].bool()]
    assert first.tolist() == [7, 8]


def test_pixels_have_the_type_of_the_model(reader: ImageReader, rows: Rows, llava: Path) -> None:
    """As generation and the merge give them to it."""
    model = reader.model_class.from_pretrained(llava, dtype=torch.bfloat16)
    found = reader.read_for(model, rows[:1], [rows[0]["input_ids"]])

    assert found["pixel_values"].dtype == torch.bfloat16


# -----------------------------------------------------------------------------
# Placeholders, and answers with images


@given(st.lists(st.integers(1, 5), max_size=5), st.data())
def test_placeholders_are_written_once_again(repeats: list[int], data: st.DataObject) -> None:
    """Each image keeps its placeholder, even without text between two images."""
    texts = st.lists(st.integers(0, 2), max_size=3)
    ids = data.draw(texts)
    for _ in repeats:
        ids += [9, *data.draw(texts)]

    assert unrepeat_tokens(repeat_tokens(ids, 9, repeats), 9, repeats) == ids


@pytest.mark.parametrize("count", [1, 8, 15, 17])
def test_answers_get_their_images(
    tmp_path: Path, reader: ImageReader, references: tuple[Path, Rows], count: int
) -> None:
    """Small copies of at most eight rows, evenly spaced, and none of an earlier evaluation."""
    found = references[1]
    rows = [make_row(found, [n, n + 1], f"what is {n}?") for n in range(count)]
    rows = [{**row, "prompt_ids": row["input_ids"]} for row in rows]
    said = [{"said": "a\u2028b", "prompt": "p", "score": 1.0} for _ in rows]
    write_rows(tmp_path / "predictions.jsonl", said)
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "99-0.png").write_bytes(b"old")
    image_answers.add_pictures(tmp_path, rows, reader, token=TOKEN)

    written = list(read_rows(tmp_path / "predictions.jsonl"))
    assert [row["said"] for row in written] == ["a\u2028b"] * count
    assert written[0]["prompt"] == f"<s>{TOKEN}{TOKEN}what is 0?"
    kept = [name for row in written for name in row["pictures"]]
    assert sorted(path.name for path in (tmp_path / "pictures").iterdir()) == sorted(kept)
    assert len(kept) == 2 * min(count, image_answers.PICTURES)
    with Image.open(tmp_path / "pictures" / kept[0]) as image:
        assert max(image.size) == image_answers.SIDE


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_model_is_asked_about_images(
    llava: Path, references: tuple[Path, Rows], count: int
) -> None:
    """They come before the text of the last message; the answer is the same every time."""
    folder = references[0].parent / "files"
    paths = [folder / f"{n}.png" for n in range(count)]
    messages = [{"role": "system", "content": "Look."}, {"role": "user", "content": "What is it?"}]
    first = ask_image_model.answer(llava, messages, paths, 4)

    assert first == ask_image_model.answer(llava, messages, paths, 4)
    assert "What is it" not in first
    assert messages[1]["content"] == "What is it?"
