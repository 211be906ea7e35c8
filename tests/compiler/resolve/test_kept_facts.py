"""Facts of large files that are cached between calls: never wrong, and never an obstacle."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ftc.compiler.resolve.content.scan import scan_rows
from ftc.compiler.resolve.data import facts as data_facts
from ftc.compiler.resolve.data import kept_facts
from ftc.compiler.resolve.facts import DataFacts, ModelFacts
from ftc.compiler.resolve.model.facts import resolve_model
from ftc.compiler.resolve.tokenizer.facts import resolve_tokenizer
from ftc.spec.sections import Spec

MakeSpec = Callable[..., Spec]
ROWS = "\n".join(f"where is parcel {n}?,label {n % 7}" for n in range(300))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the facts of every file, in a folder of the test."""
    monkeypatch.setenv("FTC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(kept_facts, "LEAST_BYTES", 100)
    (tmp_path / "data.csv").write_text(f"text,label\n{ROWS}\n", encoding="utf-8")
    return tmp_path / "cache" / "data"


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows with each reading of the rows."""
    counted: list[int] = []
    scan = scan_rows

    def count(*arguments: Any, **named: Any) -> Any:
        counted.append(1)
        return scan(*arguments, **named)

    monkeypatch.setattr(data_facts, "scan_rows", count)
    return counted


def _look(spec: Spec, folder: Path, *, sees: bool = False) -> DataFacts:
    model = resolve_model(spec, folder=folder)
    assert isinstance(model, ModelFacts)
    tokenizer = resolve_tokenizer(spec, folder=folder, model=model)
    if sees:
        model = replace(model, vision=SimpleNamespace(rule=None))  # type: ignore[arg-type]
    found = data_facts.resolve_data(spec, folder=folder, tokenizer=tokenizer, model=model)
    assert isinstance(found, DataFacts), found
    return found


@pytest.mark.usefixtures("model_folder")
def test_a_second_call_reads_no_row(
    make_spec: MakeSpec, tmp_path: Path, scans: list[int], cache: Path
) -> None:
    """The facts are equal, also where the spec differs in what they do not rest on."""
    first = _look(make_spec(), tmp_path)
    data = {"source": "data.csv", "max_length": 128, "splits": {"test": 0.2}}
    again = _look(make_spec(data=data, hardware="1x RTX-4090", training={"epochs": 9}), tmp_path)
    assert (first, len(scans), len(list(cache.iterdir()))) == (again, 1, 1)
    assert cache.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("changed", ["data.csv", "model/tokenizer_config.json", "spec"])
def test_whatever_the_facts_rest_on_is_looked_at(
    make_spec: MakeSpec, model_folder: Path, tmp_path: Path, scans: list[int], changed: str
) -> None:
    """A byte of the data, a file of the tokenizer, and a column of the spec."""
    assert model_folder == tmp_path / "model"
    first = _look(make_spec(), tmp_path)
    named: dict[str, Any] = {}
    if changed == "spec":
        columns = {"prompt": "label", "completion": "text"}
        named = {"data": {"source": "data.csv", "columns": columns}}
    else:
        path = tmp_path / changed
        old, new = ("parcel 3?", "parcel X?") if changed == "data.csv" else ("{", "{ ")
        path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    again = _look(make_spec(**named), tmp_path)
    assert len(scans) == 2
    assert (first == again) is (changed == "model/tokenizer_config.json")


@pytest.mark.usefixtures("model_folder")
def test_a_wrong_spec_reads_no_row_again(
    make_spec: MakeSpec, tmp_path: Path, scans: list[int]
) -> None:
    """A field without a valid value, which the facts do not read, has an entry of its own."""
    first = _look(make_spec(), tmp_path)
    for _ in range(2):
        spec = make_spec()
        object.__delattr__(spec.data, "packing")
        assert _look(spec, tmp_path) == first
    assert len(scans) == 2


@pytest.mark.usefixtures("model_folder")
def test_other_code_reads_again(
    make_spec: MakeSpec, tmp_path: Path, scans: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry of another ftc says nothing."""
    _look(make_spec(), tmp_path)
    monkeypatch.setattr(kept_facts, "_hash_reader", lambda: "another")
    _look(make_spec(), tmp_path)
    assert len(scans) == 2


@pytest.mark.usefixtures("model_folder")
def test_what_may_rest_on_more_files_is_not_kept(
    make_spec: MakeSpec, tmp_path: Path, cache: Path
) -> None:
    """A model that sees, a text that is taken for a file, and sampled answers."""
    _look(make_spec(), tmp_path, sees=True)
    lines = (f"where is {n}?,label {n % 7},{n}.png" for n in range(300))
    (tmp_path / "data.csv").write_text("\n".join(["text,label,extra", *lines]), encoding="utf-8")
    _look(make_spec(), tmp_path)
    _look(make_spec(objective={"type": "grpo", "rewards": [{"match": "exact"}]}), tmp_path)
    assert not cache.exists()


@pytest.mark.usefixtures("model_folder")
@pytest.mark.parametrize("text", ["", "{", "[]", '{"rows": "many"}'])
def test_a_damaged_entry_is_written_again(
    make_spec: MakeSpec, tmp_path: Path, scans: list[int], cache: Path, text: str
) -> None:
    """An entry that cannot be read counts as none."""
    first = _look(make_spec(), tmp_path)
    (entry,) = cache.iterdir()
    entry.write_text(text, encoding="utf-8")
    assert _look(make_spec(), tmp_path) == first
    assert _look(make_spec(), tmp_path) == first
    assert len(scans) == 2


@pytest.mark.usefixtures("model_folder")
def test_a_disk_that_refuses_is_no_fault(
    make_spec: MakeSpec, tmp_path: Path, scans: list[int], cache: Path
) -> None:
    """Without a place to write, the rows are read at each call."""
    cache.parent.write_text("a file in the place of the folder", encoding="utf-8")
    assert _look(make_spec(), tmp_path) == _look(make_spec(), tmp_path)
    assert len(scans) == 2


@pytest.mark.usefixtures("model_folder")
def test_many_processes_share_a_bounded_folder(
    make_spec: MakeSpec, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries are written whole, and the least lately used ones make room."""
    facts = _look(make_spec(), tmp_path)
    monkeypatch.setattr(kept_facts, "MOST_FILES", 5)
    with ThreadPoolExecutor(max_workers=8) as pool:
        found = [pool.submit(kept_facts.keep, f"{n % 9:064x}", facts) for n in range(90)]
        assert all(each.result() is None for each in found)
    kept_facts.keep("f" * 64, facts)
    assert kept_facts.recall("f" * 64) == facts
    assert len(list(cache.iterdir())) <= 5
    assert all(kept_facts.recall(path.stem) == facts for path in cache.iterdir())
