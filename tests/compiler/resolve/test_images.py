"""The facts about images: exact tokens, faults with their reason, what the model's files say."""

import io
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("PIL")

from PIL import Image

from ftc.compiler.resolve.facts import DataFacts, Facts, ModelFacts, Unknown
from ftc.compiler.resolve.resolver import Resolver
from ftc.runtime.vision.image_tokens import Grid, count_image_tokens, make_rule
from ftc.spec.sections import Objective, Spec
from ftc.spec.validate import to_spec
from tests.compiler.seeing import TEMPLATE, make_tokenizer, write_model, write_pictures, write_rows

SIZES = [(300, 200), (1000, 700), (64, 2000), (3000, 2000)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a model, four pictures and a question about each."""
    write_model(tmp_path / "model")
    write_rows(tmp_path / "rows.jsonl", write_pictures(tmp_path, SIZES))
    return tmp_path


def spec_of(**data: Any) -> Spec:
    """Return a spec of the rows, with some fields of `data`."""
    said = {
        "name": "pictures",
        "model": "./model",
        "data": {"source": "rows.jsonl", **data},
        "hardware": "1x A100-80GB",
    }
    return to_spec(said)


def resolve(folder: Path, **data: Any) -> Facts:
    """Return the facts of that spec."""
    return Resolver().resolve(spec_of(**data), folder=folder)


def data_of(folder: Path, **data: Any) -> DataFacts:
    """Return the facts of its data, which must be known."""
    found = resolve(folder, **data).data
    assert isinstance(found, DataFacts)
    return found


def test_the_model_sees(folder: Path) -> None:
    """The tower's sizes are those of config.json, the rule that of the processor's file."""
    model = resolve(folder).model
    assert isinstance(model, ModelFacts)
    assert model.vision is not None
    assert make_rule(model.vision.rule) == Grid(
        patch=14, merge=2, min_pixels=3136, max_pixels=12_845_056, token="<|image_pad|>"
    )
    assert (model.vision.tower.kind, model.vision.tower.layers) == ("qwen2_5_vl", 32)
    assert model.vision.token_id == make_tokenizer().token_to_id("<|image_pad|>")


def test_lengths_have_the_tokens_of_images(folder: Path) -> None:
    """The whole length is that of the text and of every token of its image."""
    data = data_of(folder)
    rule = make_rule({"kind": "grid", "patch": 14, "merge": 2, "min_pixels": 3136,
                      "max_pixels": 12_845_056, "token": "<|image_pad|>"})  # fmt: skip
    tokens = [count_image_tokens(rule, *size) for size in SIZES]
    text = TEMPLATE_TEXT.format(question="which is picture 0?", answer="0.")
    around = len(make_tokenizer().encode(text).ids) - 1
    lengths = [around + count for count in tokens]
    assert data.lengths.max == max(lengths)
    assert data.lengths.mean == pytest.approx(sum(lengths) / 4)
    assert data.lengths.prompt_max == max(lengths) - len("0.<|im_end|>") + len("<|im_end|>") - 1
    pictures = data.pictures
    assert pictures is not None
    assert (pictures.rows, pictures.images, pictures.pixels_max) == (4, 4, 6_000_000)
    assert pictures.sizes[0].tokens_max == max(tokens)
    assert pictures.sizes[0].row_patches_max == 4 * max(tokens)


TEMPLATE_TEXT = (
    "<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|>{question}<|im_end|>\n"
    "<|im_start|>assistant\n{answer}<|im_end|>"
)


def test_each_limit_has_its_lengths(folder: Path) -> None:
    """They are those that the rows have when the spec sets the limit."""
    free = data_of(folder)
    assert free.pictures is not None
    assert len(free.limited_lengths) == len(free.pictures.sizes) > 3
    assert free.limited_lengths[0] == free.lengths
    for size, lengths in zip(free.pictures.sizes[1:], free.limited_lengths[1:], strict=True):
        said = data_of(folder, images={"max_pixels": size.max_pixels})
        assert said.lengths == lengths
        assert said.pictures is not None
        assert said.pictures.sizes == (size,)


def test_rows_with_bad_images_are_counted(folder: Path) -> None:
    """With the reason, and the others are kept."""
    bad = ["none.png", "../x.png", "https://a.org/x.png", "model/config.json", "clip.mp4"]
    rows = [{"image": name, "question": "what?", "answer": "a"} for name in bad]
    rows.append({"question": "what is <|image_pad|>?", "answer": "a"})
    write_rows(folder / "rows.jsonl", [*write_pictures(folder, SIZES), *rows])
    data = data_of(folder)
    assert data.usable_rows == 4
    assert data.faults == {
        "image_broken": 1, "image_missing": 1, "image_outside": 1, "image_url": 1,
        "placeholder": 1, "video": 1,
    }  # fmt: skip
    allowed = data_of(folder, allow_download=True)
    assert allowed.pictures is not None
    assert (allowed.usable_rows, allowed.pictures.urls) == (5, 1)


def test_bytes_in_parquet(folder: Path) -> None:
    """The images of a parquet file are measured where they are, and need no file of their own."""
    parquet = pytest.importorskip("pyarrow.parquet")
    arrow = pytest.importorskip("pyarrow")
    rows = write_pictures(folder, SIZES)
    for row in rows:
        stream = io.BytesIO((folder / row["image"]).read_bytes())
        row["image"] = {"bytes": stream.getvalue(), "path": None}
    rows.append({"image": {"bytes": b"broken", "path": None}, "question": "q", "answer": "a"})
    parquet.write_table(arrow.Table.from_pylist(rows), folder / "rows.parquet")
    stored, files = data_of(folder, source="rows.parquet"), data_of(folder)
    assert stored.lengths == files.lengths
    assert stored.pictures is not None
    assert files.pictures is not None
    assert (stored.pictures.stored, files.pictures.stored) == (len(SIZES), 0)
    assert replace(stored.pictures, stored=0) == files.pictures
    assert stored.faults == {"image_broken": 1}


def test_pairs_of_answers_have_images(folder: Path) -> None:
    """The longer conversation counts, with the tokens of its images under each limit."""
    asked = data_of(folder)
    rows = [
        {"image": row["image"], "prompt": row["question"], "chosen": "no", "rejected": "not this"}
        for row in write_pictures(folder, SIZES)
    ]
    write_rows(folder / "pairs.jsonl", rows)
    spec = replace(spec_of(source="pairs.jsonl"), objective=Objective(type="dpo"))
    data = Resolver().resolve(spec, folder=folder).data
    assert isinstance(data, DataFacts)
    assert data.pictures == asked.pictures
    assert data.lengths.max == asked.lengths.max + len("not this") - len("0.")
    assert len(data.limited_lengths) == len(asked.limited_lengths)
    for pair, alone in zip(data.limited_lengths, asked.limited_lengths, strict=True):
        assert pair.max == alone.max + len("not this") - len("0.")
    assert data.preferences is not None
    assert data.preferences.chosen_p50 < data.preferences.rejected_p50


def test_pairs_with_lists_of_bytes_in_parquet(folder: Path) -> None:
    """As public data sets of preferences have them: the messages have places without images."""
    parquet = pytest.importorskip("pyarrow.parquet")
    arrow = pytest.importorskip("pyarrow")
    rows = [
        {
            "images": [{"bytes": (folder / row["image"]).read_bytes(), "path": None}],
            "prompt": _say("user", row["question"], is_shown=True),
            "chosen": _say("assistant", row["answer"]),
            "rejected": _say("assistant", "no"),
        }
        for row in write_pictures(folder, SIZES)
    ]
    rows.append({**rows[0], "images": [{"bytes": b"broken", "path": None}]})
    rows.append({**rows[0], "images": []})
    parquet.write_table(arrow.Table.from_pylist(rows), folder / "pairs.parquet")
    spec = replace(spec_of(source="pairs.parquet"), objective=Objective(type="dpo"))
    data = Resolver().resolve(spec, folder=folder).data
    assert isinstance(data, DataFacts)
    assert data.pictures is not None
    assert (data.usable_rows, data.pictures.images, data.pictures.stored) == (4, 4, 4)
    assert data.faults == {"image_broken": 1, "image_count": 1}


def _say(role: str, text: str, *, is_shown: bool = False) -> list[dict[str, Any]]:
    said: dict[str, Any] = {"type": "text", "text": text}
    shown: dict[str, Any] = {"type": "image", "text": None}
    return [{"role": role, "content": [shown, said] if is_shown else [said]}]


def test_a_text_model_has_no_use_for_a_column_of_images(folder: Path) -> None:
    """A column that is only called so is left alone; parts of messages are faults."""
    config = json.loads((folder / "model" / "config.json").read_text())
    text = {**config["text_config"], "model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]}
    (folder / "model" / "config.json").write_text(json.dumps(text))
    data = data_of(folder)
    assert (data.images, data.pictures, data.usable_rows) == (None, None, 4)
    part = {"role": "user", "content": [{"type": "image", "image": "images/0.png"}]}
    answer = {"role": "assistant", "content": "a"}
    plain = {"messages": [{"role": "user", "content": "hi"}, answer]}
    write_rows(folder / "rows.jsonl", [{"messages": [part, answer]}, plain])
    assert data_of(folder).faults == {"image_part": 1}


def test_a_model_without_its_processor(folder: Path) -> None:
    """The rule is unknown, and the file is named."""
    (folder / "model" / "preprocessor_config.json").unlink()
    facts = resolve(folder)
    assert isinstance(facts.model, ModelFacts)
    assert facts.model.vision is not None
    assert (facts.model.vision.rule, facts.model.vision.missing) == ({}, "preprocessor_config.json")
    assert isinstance(facts.data, DataFacts)
    assert facts.data.pictures is not None
    assert facts.data.pictures.sizes == ()


def test_only_bad_images(folder: Path) -> None:
    """One finding says why no row is left."""
    write_rows(folder / "rows.jsonl", [{"image": "x.png", "question": "a", "answer": "b"}] * 3)
    found = resolve(folder).data
    assert isinstance(found, Unknown)
    assert "name an image that is not there" in found.finding.message
    assert "write their paths from there" in found.finding.help
    write_rows(
        folder / "rows.jsonl", [{"image": "https://a.org/x.png", "question": "a", "answer": "b"}]
    )
    found = resolve(folder).data
    assert isinstance(found, Unknown)
    assert "`data.allow_download`" in found.finding.help


def test_an_unknown_model_may_read_images(folder: Path) -> None:
    """The model is what is wrong: nothing is said about rows with images."""
    shutil.rmtree(folder / "model")
    facts = resolve(folder)
    assert isinstance(facts.model, Unknown)
    assert isinstance(facts.data, DataFacts)


def test_an_objective_without_images_is_named(folder: Path) -> None:
    """A message has a place for an image of a column that this objective does not read."""
    asked = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What?"}]}]
    row = {"images": ["0.png"], "prompt": asked, "chosen": "a box", "rejected": "a cat"}
    (folder / "pairs.jsonl").write_text(json.dumps(row))
    spec = replace(spec_of(source="pairs.jsonl"), objective=Objective(type="orpo"))
    found = Resolver().resolve(spec, folder=folder).data
    assert isinstance(found, Unknown)
    assert "1 holds images, which `orpo` does not read" in found.finding.message
    assert "use `sft` or `dpo`" in found.finding.help


def test_the_template_must_write_a_placeholder_for_each_image(folder: Path) -> None:
    """A template that leaves images out gives rows that cannot be trained on."""
    place = folder / "model" / "tokenizer_config.json"
    config = json.loads(place.read_text())
    config["chat_template"] = TEMPLATE.replace("<|image_pad|>", "")
    place.write_text(json.dumps(config))
    assert isinstance(resolve(folder).data, Unknown)


def test_a_photo_is_counted_upright(folder: Path) -> None:
    """The size of a turned photo is that of the picture that the model sees."""
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (1000, 100)).save(folder / "images" / "0.jpg", exif=exif)
    write_rows(folder / "rows.jsonl", [{"image": "images/0.jpg", "question": "a", "answer": "b"}])
    upright = data_of(folder, images={"max_pixels": 50_000}).pictures
    Image.new("RGB", (100, 1000)).save(folder / "images" / "0.jpg")
    assert upright == data_of(folder, images={"max_pixels": 50_000}).pictures


@pytest.mark.parametrize(
    ("column", "model", "objective"),
    [("image", "./text", "sft"), ("image", "./model", "orpo"), ("photo", "./model", "sft")],
)
def test_images_that_training_leaves_out_are_counted(
    folder: Path, column: str, model: str, objective: str
) -> None:
    """By a text model, by an objective of texts, and in a column that nothing names."""
    make_text_model(folder)
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    for row in rows:
        row[column] = row.pop("image")
        if objective == "orpo":
            row.update(chosen=row["answer"], rejected="no.")
    rows[0][column] = None
    write_rows(folder / "rows.jsonl", rows)
    said = {"name": "x", "model": model, "data": "rows.jsonl", "objective": objective}
    found = Resolver().resolve(to_spec({**said, "hardware": "1x A100-80GB"}), folder=folder).data
    assert isinstance(found, DataFacts)
    assert (found.images, found.pictures) == (None, None)
    assert found.contents.unseen_images == {column: 3}


def test_texts_about_images_are_no_images(folder: Path) -> None:
    """Words in a column of this name, and names of files that are not there in another."""
    make_text_model(folder)
    rows = [
        {"question": f"which is it, {n}?", "answer": f"{n}.", "image": "a cat", "seal": "a.png"}
        for n in range(4)
    ]
    write_rows(folder / "rows.jsonl", rows)
    said = {"name": "x", "model": "./text", "data": "rows.jsonl", "hardware": "1x A100-80GB"}
    found = Resolver().resolve(to_spec(said), folder=folder).data
    assert isinstance(found, DataFacts)
    assert found.contents.unseen_images == {}


def make_text_model(folder: Path) -> None:
    """Write the language model of the folder's model by itself to `text`."""
    shutil.copytree(folder / "model", folder / "text")
    path = folder / "text" / "config.json"
    config = json.loads(path.read_text())["text_config"]
    config |= {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2"}
    path.write_text(json.dumps(config))
