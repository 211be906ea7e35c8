"""What makes a stage stale, on small folders: its sources, what it reads, what it wrote."""

import json
import os
import shutil
from pathlib import Path

import pytest

from ftc.runtime import stages

LARGE_BYTES = 65 * 2**20
OLD = 1_600_000_000  # long before any test


def write(folder: Path, **texts: str) -> Path:
    """Write files; two underscores in a name are a folder's slash, one before `py` its dot."""
    for name, text in texts.items():
        path = folder / name.replace("__", "/").replace("_py", ".py").replace("_json", ".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def record(bundle: Path, stage: str, identity: stages.Identity, *outputs: Path) -> None:
    """Note that a stage is done, as guard.py does."""
    note = bundle / f"run/done/{stage}.json"
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(json.dumps(stages.make_record(bundle, identity, outputs)), encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import used", ["used.py"]),
        ("from used import thing as other", ["used.py"]),
        ("def f():\n    if 1:\n        import used", ["used.py"]),
        ("import middle", ["middle.py", "used.py"]),
        ("import used.more", ["used.py"]),
        ("import parts.one", ["parts/__init__.py", "parts/one.py", "parts/two.py"]),
        ("from parts import two", ["parts/__init__.py", "parts/two.py"]),
        ("open(HERE / 'schema.json')", ["schema.json"]),
        ("import subprocess\nsubprocess.run(['python', 'used.py'])", ["used.py"]),
        ("import events, os, json", []),
        ("'''used.py and schema.json'''", []),
    ],
)
def test_sources_are_found(tmp_path: Path, text: str, found: list[str]) -> None:
    """Modules wherever they are imported, and files by their names; what only reports is left."""
    more = {"used_py": "", "middle_py": "import used", "schema_json": "{}", "events_py": ""}
    parts = {"parts__one_py": "from .two import x", "parts__two_py": ""}
    write(tmp_path, stage_py=text, run__used_py="", **more, **parts)
    (tmp_path / "parts/__init__.py").write_text("")

    assert stages.find_sources(tmp_path, "stage.py") == sorted(["stage.py", *found])


def test_what_makes_a_stage_stale(tmp_path: Path) -> None:
    """A comment, a file and a value do; another place, another time and a report do not."""
    bundle = write(tmp_path / "a", stage_py="import used", used_py="x = 1", journal_py="")
    write(bundle, model__config_json="{}", model__weights="w")

    def mark(folder: Path, *values: str) -> str:
        inputs: list[stages.Input] = [folder / "model", folder / "rows", *values]
        return str(stages.identify(folder, "stage.py", *inputs).fingerprint)

    first = mark(bundle)
    moved = shutil.copytree(bundle, tmp_path / "elsewhere/b")
    os.utime(moved / "model/weights", (OLD, OLD))
    write(moved, journal_py="x = 2", model__LICENSE="")
    (moved / "model/LICENSE").rename(moved / "model/.hidden")
    assert mark(moved) == first
    write(moved, used_py="x = 1  # one")
    changed = [mark(moved), mark(moved, "1.0")]
    write(moved, rows="1")
    changed.append(mark(moved))
    write(moved, model__weights="v")
    changed.append(mark(moved))

    assert len({first, *changed}) == 5


def test_the_whole_of_a_large_file_counts(tmp_path: Path) -> None:
    """Of 65 MiB the first byte is another one, and the last ones are the same."""
    write(tmp_path, stage_py="")
    weights = tmp_path / "model.safetensors"
    marks = []
    for first in (b"\0", b"\1"):
        with weights.open("wb") as file:
            file.write(first)
            file.truncate(LARGE_BYTES)
        marks.append(stages.identify(tmp_path, "stage.py", weights).fingerprint)

    assert marks[0] != marks[1]


def test_a_digest_is_remembered_only_where_that_is_sound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has just changed is read again; what is settled is not, until its times change."""
    (tmp_path / "run").mkdir()
    path = tmp_path / "rows"
    path.write_text("before")
    note = tmp_path / "run/digests.json"

    fresh = stages.digest_files(tmp_path, [path])
    assert not note.exists()
    monkeypatch.setattr(stages, "RACY_NS", -(10**12))  # as if it had been written long ago
    assert stages.digest_files(tmp_path, [path]) == fresh
    (entry,) = json.loads(note.read_text()).values()
    note.write_text(json.dumps({"rows": ["remembered", *entry[1:]]}))
    assert stages.digest_files(tmp_path, [path]) == {"rows": "remembered"}

    times = path.stat()
    path.write_text("behind")  # of the same size, and by its own time as old
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    changed = stages.digest_files(tmp_path, [path])
    note.write_text("cut sho")

    assert changed["rows"] not in {"remembered", fresh["rows"]}
    assert stages.digest_files(tmp_path, [path]) == changed


@pytest.mark.parametrize("how", ["changed", "gone", "added"])
def test_an_output_that_is_no_longer_what_was_written(tmp_path: Path, how: str) -> None:
    """The stage is not done, and a later one or another bundle's names file, stage and way out."""
    bundle = write(tmp_path / "first", merge_py="", run__merged__config_json="{}")
    other = write(tmp_path / "second", train_py="")
    merged = bundle / "run/merged"
    record(bundle, "merged", stages.identify(bundle, "merge.py"), merged)
    assert stages.find_tampered(bundle, [merged]) is None
    assert stages.find_tampered(other, [str(merged)]) is None

    config = merged / "config.json"
    if how == "changed":
        config.write_text("[]")
    elif how == "gone":
        config.unlink()
    else:
        (merged / "adapter_config.json").write_text("{}")

    name = "adapter_config.json" if how == "added" else "config.json"
    said = {"changed": "has changed", "gone": "is gone", "added": "was added"}[how]
    kept = stages.read_record(bundle, "merged")
    assert kept is not None
    ending = "since stage `merged` wrote it"
    assert stages.find_changed_output(kept, bundle, bundle=bundle) == f"run/merged/{name} {said}"
    assert stages.find_tampered(bundle, [merged]) == (
        f"run/merged/{name} {said} {ending}: ./run.sh makes it again"
    )
    assert stages.find_tampered(other, [str(merged)]) == (
        f"../first/run/merged/{name} {said} {ending}: ../first/run.sh makes it again"
    )
