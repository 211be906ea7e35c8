"""Images that are replaced after prepare.py read them: the stages that read them are stale."""

import json
from pathlib import Path

import pytest

from ftc.runtime import stages
from ftc.runtime.files import write_rows
from ftc.runtime.vision.image_store import list_pictures, note_folder


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Return a bundle whose rows refer to two pictures of a folder beside it."""
    folder = tmp_path / "bundle"
    (folder / "run/data").mkdir(parents=True)
    (folder / "train.py").write_text("import json\n", encoding="utf-8")
    photos = tmp_path / "photos"
    (photos / "inner").mkdir(parents=True)
    names = ("a.png", "inner/b.png", "unused.png")
    for name in names:
        (photos / name).write_bytes(name.encode())
    rows = [
        {"images": json.dumps([{"path": name}, {"stored": "0" * 64}]), "input_ids": [1]}
        for name in names[:2]
    ]
    path = folder / "run/data/train.jsonl"
    write_rows(path, [*rows, {"input_ids": [2]}])
    note_folder(folder / "run/data", photos, [path])
    return folder


def test_the_pictures_of_rows_are_inputs(bundle: Path) -> None:
    """Those in files, each once; none before they are noted."""
    photos = bundle.parent / "photos"
    assert list_pictures(bundle / "run/data") == [photos / "a.png", photos / "inner/b.png"]
    assert list_pictures(bundle / "run") == []


@pytest.mark.parametrize(("name", "stale"), [("inner/b.png", True), ("unused.png", False)])
def test_a_replaced_picture_is_another_input(bundle: Path, name: str, *, stale: bool) -> None:
    """The file of data is the same, and the training is stale all the same."""

    def identify() -> stages.Identity:
        return stages.identify(bundle, "train.py", *list_pictures(bundle / "run/data"))

    before = identify()
    (bundle.parent / "photos" / name).write_bytes(b"another picture")
    assert (identify().fingerprint != before.fingerprint) == stale
    (bundle.parent / "photos" / name).unlink()
    assert (identify().fingerprint != before.fingerprint) == stale
