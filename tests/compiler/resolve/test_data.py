"""Data facts: every format, every form, every count, and one finding per way to be unreadable."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from ftc.compiler.resolve.data.facts import resolve_data
from ftc.compiler.resolve.facts import Label, Unknown
from tests.compiler.resolve.resolving import CHAT, NO_TOKENIZER, chat_rows, exact, known, unknown

SHAREGPT = [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "hello"}]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_csv_dialects(make_spec: Any, tmp_path: Path, delimiter: str) -> None:
    """The delimiter is found beside quoted newlines and the other delimiters in quoted text."""
    lines = [["prompt", "completion", "id"], ['"a, b; c | d\ne"', "x", "1"], ["plain", "y", "2"]]
    text = "\r\n".join(delimiter.join(cells) for cells in lines)
    (tmp_path / "data.csv").write_bytes(text.encode())
    facts = known(make_spec(), tmp_path)
    assert (facts.format, facts.delimiter, facts.columns[0]) == ("csv", delimiter, "prompt")
    assert (facts.rows, facts.usable_rows, facts.malformed_rows) == (2, 2, 0)


def test_every_kind_of_malformed_row_is_named(make_spec: Any, tmp_path: Path) -> None:
    """Each way in which a conversation is none is counted by itself."""
    user, answer = CHAT
    chat_rows(
        tmp_path,
        CHAT,
        [user],
        [answer, user, answer],
        [user, {"role": "wizard", "content": "x"}],
        [{"role": "user", "content": ["no", "text"]}, answer],
        "no JSON",
        {"role": "user"},
    )
    with (tmp_path / "chat.jsonl").open("a", encoding="utf-8") as file:
        file.write("\n[1, 2]\n")
    facts = known(make_spec(data={"source": "chat.jsonl"}), tmp_path)
    assert facts.faults == {
        "no_list": 2,
        "no_turn": 1,
        "order": 1,
        "unanswered": 1,
        "unknown_role": 1,
        "unreadable": 1,
    }
    assert facts.malformed_rows == sum(facts.faults.values())
    assert facts.usable_rows == 1


@pytest.mark.parametrize("rows", [999, 1000, 1001, 2500])
def test_no_row_is_lost_behind_those_that_name_the_columns(
    make_spec: Any, tmp_path: Path, rows: int
) -> None:
    """The first thousand rows of a jsonl file name its columns; the one after them counts too."""
    lines = (json.dumps({"prompt": f"{n}", "completion": "x"}) for n in range(rows))
    (tmp_path / "data.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert known(make_spec(data={"source": "data.jsonl"}), tmp_path).rows == rows


def test_damage_is_told_apart(make_spec: Any, tmp_path: Path) -> None:
    """What can be repaired, what is lost, and control characters."""
    rows = ["prompt,completion", "cafÃ©,a", "caf\ufffd,b", "be\x07ll,c", "one\ttab,d"]
    (tmp_path / "data.csv").write_text("\n".join(rows), encoding="utf-8")
    facts = known(make_spec(), tmp_path)
    assert (facts.misencoded_rows, facts.lost_rows, facts.control_rows) == (2, 1, 1)


@pytest.mark.parametrize(
    "cell", ["hi", [{"role": "user", "content": "hi"}], '[{"role": "user", "content": "hi"}]']
)
def test_messages_in_a_cell_are_a_fact(make_spec: Any, tmp_path: Path, cell: object) -> None:
    """One row whose prompt is a list of messages decides which reader a bundle has."""
    rows = ({"prompt": prompt, "completion": "x"} for prompt in ("one", "two", cell))
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    facts = known(make_spec(data={"source": "data.jsonl"}), tmp_path)
    assert (facts.usable_rows, facts.has_message_cells) == (3, cell != "hi")


def test_reasoning_in_any_row_is_a_fact(make_spec: Any, tmp_path: Path) -> None:
    """Empty reasoning counts, as chat templates write it otherwise; stripped reasoning does not."""
    for said in ("<think></think>b", "<think>so</think>b"):
        rows = ["prompt,completion", "one,a", f"two,{said}"]
        (tmp_path / "data.csv").write_text("\n".join(rows), encoding="utf-8")
        assert known(make_spec(), tmp_path).has_reasoning
    stripped = make_spec(data={"source": "data.csv", "reasoning": "strip"})
    assert not known(stripped, tmp_path).has_reasoning


def test_prompts_with_several_answers_are_counted(make_spec: Any, tmp_path: Path) -> None:
    """Rows with one prompt stay in one split, so the most frequent prompt is a fact."""
    rows = ["prompt,completion", "one,a", "one,b", "one ,c", "two,a", "two,a"]
    (tmp_path / "data.csv").write_text("\n".join(rows), encoding="utf-8")
    facts = known(make_spec(), tmp_path)
    assert (facts.prompts, facts.largest_prompt_rows, facts.conflicting_rows) == (2, 3, 2)


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8-sig"),
        ("cp1252", "cp1252"),
        ("utf-16", "utf-16"),
    ],
)
def test_encodings(make_spec: Any, tmp_path: Path, encoding: str, expected: str) -> None:
    """The encoding is told, the header has no BOM, and sound letters are no damage."""
    text = "prompt,completion\nOn és l\u2019avió?,Aquí: 5 €\nÉs meu,Sí\n"
    (tmp_path / "data.csv").write_bytes(text.encode(encoding))
    facts = known(make_spec(), tmp_path)
    assert facts.encoding == expected
    assert facts.columns == ("prompt", "completion")
    assert (facts.usable_rows, facts.misencoded_rows) == (2, 0)


def test_a_wrong_byte_among_right_letters_is_damage(make_spec: Any, tmp_path: Path) -> None:
    """One row in another encoding does not make the whole file be read in it."""
    rows = "prompt,completion\n" + "això és cançó,àèé\n" * 3
    (tmp_path / "data.csv").write_bytes(rows.encode() + b"caf\xe9,x\n")
    facts = known(make_spec(), tmp_path)
    assert facts.encoding == "utf-8"
    assert (facts.rows, facts.duplicate_rows, facts.misencoded_rows) == (4, 2, 1)


def test_every_count(make_spec: Any, tmp_path: Path) -> None:
    """Blank, duplicate, misencoded and malformed rows are told apart; the rest is usable."""
    rows = [
        "message,intent",
        "one,a",
        "  one ,a",
        "two,b",
        ",b",
        "three, ",
        "caf\u00c3\u00a9,a",
        "café,a",
        "four,b,too,many",
        "",
        "five",
    ]
    (tmp_path / "data.csv").write_text("\n".join(rows), encoding="utf-8")
    facts = known(make_spec(), tmp_path)
    assert (facts.prompt, facts.completion) == ("message", "intent")
    assert facts.rows == 9
    assert facts.blank_rows == 3
    assert facts.duplicate_rows == 2
    assert facts.misencoded_rows == 1
    assert facts.malformed_rows == 1
    assert facts.usable_rows == 3
    kept = {"cleaning": {"drop_duplicates": False, "repair_encoding": False}}
    facts = known(make_spec(data={"source": "data.csv", **kept}), tmp_path)
    assert (facts.duplicate_rows, facts.usable_rows) == (1, 5)
    facts = known(make_spec(data={"source": "data.csv", "max_rows": 2}), tmp_path)
    assert (facts.rows, facts.usable_rows) == (9, 2)


@pytest.mark.parametrize("wrapped", [None, "data", "train"])
def test_json_and_jsonl(make_spec: Any, tmp_path: Path, wrapped: str | None) -> None:
    """A list of objects, a list under a usual key, and one object per line hold the same rows."""
    rows = [{"instruction": "add", "input": "1 1", "output": 2}, {"instruction": "say"}]
    value: Any = rows if wrapped is None else {"version": 1, wrapped: rows}
    (tmp_path / "rows.json").write_text(json.dumps(value), encoding="utf-8")
    lines = "\n\n".join(map(json.dumps, rows)) + '\n{"broken\n[1]\n'
    (tmp_path / "rows.jsonl").write_text(lines, encoding="utf-8")
    facts = known(make_spec(data="rows.json"), tmp_path)
    assert (facts.form, facts.input, facts.rows, facts.usable_rows) == (
        "instruction",
        "input",
        2,
        1,
    )
    assert (facts.blank_rows, facts.malformed_rows) == (1, 0)
    facts = known(make_spec(data="rows.jsonl"), tmp_path)
    assert (facts.rows, facts.usable_rows, facts.malformed_rows) == (4, 1, 2)
    assert facts.columns == ("instruction", "input", "output")


def test_parquet(make_spec: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parquet rows hold lists of messages; without pyarrow one finding says what to install."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"id": [1, 2], "messages": [CHAT, None]})
    parquet.write_table(table, tmp_path / "rows.parquet")
    facts = known(make_spec(data="rows.parquet"), tmp_path)
    assert (facts.format, facts.encoding, facts.delimiter) == ("parquet", "binary", None)
    assert (facts.form, facts.rows, facts.usable_rows) == ("chat", 2, 1)
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no")
    assert unknown(make_spec(data="bad.parquet"), tmp_path).code == "FTC203"
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert unknown(make_spec(data="rows.parquet"), tmp_path).code == "FTC207"


def test_conversations(make_spec: Any, tmp_path: Path) -> None:
    """Roles and order decide what is a conversation; ShareGPT's names are read too."""
    system = {"role": "system", "content": "Be brief."}
    longer = [*CHAT, {"role": "user", "content": "more"}, CHAT[1]]
    chat_rows(tmp_path, CHAT, SHAREGPT, [system, *CHAT], longer)
    facts = known(make_spec(data="chat.jsonl"), tmp_path)
    assert (facts.form, facts.messages) == ("chat", "messages")
    assert (facts.rows, facts.duplicate_rows, facts.usable_rows) == (4, 1, 3)
    assert (facts.multi_turn, facts.has_system) == (True, True)
    assert facts.labels == ()
    chat_rows(tmp_path, CHAT)
    facts = known(make_spec(data="chat.jsonl"), tmp_path)
    assert (facts.multi_turn, facts.has_system) == (False, False)


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ([], "blank"),
        (None, "blank"),
        ([CHAT[0], {"role": "assistant", "content": " "}], "blank"),
        ([CHAT[0]], "malformed"),
        ([CHAT[1], CHAT[0]], "malformed"),
        ([CHAT[0], CHAT[0], CHAT[1]], "malformed"),
        ([*CHAT, {"role": "system", "content": "late"}], "malformed"),
        ([{"role": "alien", "content": "x"}, CHAT[1]], "malformed"),
        ([{"role": "user", "content": ["x"]}, CHAT[1]], "malformed"),
        ([{"role": "user"}, CHAT[1]], "malformed"),
        (["hi", "hello"], "malformed"),
        ({"role": "user"}, "malformed"),
        ("not json", "malformed"),
    ],
)
def test_broken_conversations(make_spec: Any, tmp_path: Path, messages: Any, fault: str) -> None:
    """Each break of the rules is counted as what it is."""
    chat_rows(tmp_path, CHAT, messages)
    facts = known(make_spec(data="chat.jsonl"), tmp_path)
    assert facts.usable_rows == 1
    assert (facts.blank_rows, facts.malformed_rows) == (fault == "blank", fault == "malformed")


def test_a_conversation_in_a_csv_cell(make_spec: Any, tmp_path: Path) -> None:
    """A csv holds messages as JSON text."""
    cell = json.dumps(CHAT).replace('"', '""')
    (tmp_path / "data.csv").write_text(f'id,messages\n1,"{cell}"\n', encoding="utf-8")
    assert known(make_spec(), tmp_path).usable_rows == 1


def test_labels_are_a_closed_set_only_with_rows_enough(make_spec: Any, tmp_path: Path) -> None:
    """Two answers of five rows each are labels; as many answers as rows are none."""
    rows = [f"text {i},{'no' if i % 3 else 'yes'}" for i in range(12)]
    (tmp_path / "data.csv").write_text("\n".join(["text,label", *rows]), encoding="utf-8")
    facts = known(make_spec(), tmp_path)
    assert facts.labels == (Label(name="no", rows=8), Label(name="yes", rows=4))
    for answers in (range(20), ["x" * (90 + i % 2) for i in range(20)]):
        rows = [f"text {i},{answer}" for i, answer in enumerate(answers)]
        (tmp_path / "data.csv").write_text("\n".join(["text,label", *rows]), encoding="utf-8")
        assert known(make_spec(), tmp_path).labels == ()


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("rows.csv", b"", "FTC204"),
        ("rows.csv", b"prompt,completion\n", "FTC204"),
        ("rows.csv", b"prompt,completion\n , \n", "FTC204"),
        ("rows.csv", b"prompt,completion\na\0,b\n", "FTC202"),
        ("rows.jsonl", b"\x1f\x8b\x08 packed", "FTC202"),
        ("rows.csv", b"\xef\xbb\xbf <!DOCTYPE html>\n<html>", "FTC202"),
        ("rows.json", b"PAR1", "FTC202"),
        ("rows.jsonl", b"\n\n", "FTC204"),
        ("rows.jsonl", b"{broken\n", "FTC204"),
        ("rows.json", b"{", "FTC203"),
        ("rows.json", b"{}", "FTC203"),
        ("rows.json", b"[" * 100_000, "FTC203"),
        ("rows.zip", b"PK\3\4\0", "FTC202"),
        ("rows.jsonl.gz", b"\x1f\x8b\x08 packed", "FTC202"),
        ("rows.dat", b"a\0b", "FTC201"),
        ("rows", b"a,b\n", "FTC201"),
    ],
)
def test_files_that_cannot_be_read(
    make_spec: Any, tmp_path: Path, name: str, content: bytes, code: str
) -> None:
    """Each way to be unreadable has its own code."""
    (tmp_path / name).write_bytes(content)
    assert unknown(make_spec(data=f"./{name}"), tmp_path).code == code


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ('\n{"text": "a"}\n{"text": "b"}\n', "jsonl"),
        ('[\n  {"text": "a"}\n]', "json"),
        ("when;text\n1;a\n2;b\n3;c\n", "csv"),
        ("Once, there was a house.\nIt stood on a hill, alone.\n\nNobody came.\n", None),
    ],
)
def test_the_format_that_the_first_lines_show(
    make_spec: Any, tmp_path: Path, content: str, shown: str | None
) -> None:
    """It is proposed where the extension tells none; prose is told how to become rows."""
    (tmp_path / "rows.txt").write_text(content, encoding="utf-8")
    finding = unknown(make_spec(data="rows.txt"), tmp_path)
    assert finding.code == "FTC201"
    fix = ({"op": "add", "path": "/data/format", "value": shown},)
    assert finding.fix == (fix if shown else ())
    assert (f"set `data.format` to `{shown}`" if shown else '{"text": "..."}') in finding.help
    if shown:
        known(make_spec(data={"source": "rows.txt", "format": shown}), tmp_path)


def test_lists_that_are_not_read_are_a_fact(make_spec: Any, tmp_path: Path) -> None:
    """Those beside the rows, if they hold objects."""
    rows = [{"text": "a"}, {"text": "b"}]
    value = {"tags": ["x"], "train": rows, "test": rows[:1], "validation": []}
    (tmp_path / "rows.json").write_text(json.dumps(value), encoding="utf-8")
    assert known(make_spec(data="rows.json"), tmp_path).left_lists == {"test": 1}
    (tmp_path / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    assert known(make_spec(data="rows.json"), tmp_path).left_lists == {}


def test_a_spreadsheet_is_no_archive_to_unpack(make_spec: Any, tmp_path: Path) -> None:
    """Both are zip files: their contents tell them apart."""
    for name, inside in (("rows.xlsx", "xl/workbook.xml"), ("rows.zip", "rows.csv")):
        with ZipFile(tmp_path / name, "w") as archive:
            archive.writestr(inside, "a")
    finding = unknown(make_spec(data="rows.xlsx"), tmp_path)
    assert "`rows.xlsx` is xlsx, not a table" in finding.message
    assert "export the table" in finding.help
    finding = unknown(make_spec(data="rows.zip"), tmp_path)
    assert "unpack it" in finding.help


def test_a_folder_of_texts_is_told_how_to_become_rows(make_spec: Any, tmp_path: Path) -> None:
    """Hidden files and pictures are no texts."""
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / ".notes").write_text("hidden", encoding="utf-8")
    (folder / "a.png").write_bytes(b"\x89PNG\0")
    assert "jsonl" not in unknown(make_spec(data="pages"), tmp_path).help
    (folder / "a.md").write_text("# A page", encoding="utf-8")
    assert "write its texts to one jsonl file" in unknown(make_spec(data="pages"), tmp_path).help


def test_a_missing_file_is_suggested(make_spec: Any, tmp_path: Path) -> None:
    """The nearest file's name is a fix; a folder is told as one."""
    (tmp_path / "tickets.csv").write_text("text\na\n", encoding="utf-8")
    finding = unknown(make_spec(data="tikets.csv"), tmp_path)
    assert finding.code == "FTC200"
    assert finding.fix == ({"op": "replace", "path": "/data", "value": "tickets.csv"},)
    (tmp_path / "folder").mkdir()
    assert unknown(make_spec(data="./folder"), tmp_path).code == "FTC200"


@pytest.mark.parametrize("name", ["rows", "rows/*.jsonl", "rows/b*"])
def test_folder_or_pattern_of_files(make_spec: Any, tmp_path: Path, name: str) -> None:
    """The files of a folder or of a pattern are named, and proposed if they are of one kind."""
    folder = tmp_path / "rows"
    folder.mkdir()
    for stem in ("a", "b", "b-test"):
        (folder / f"{stem}.jsonl").write_text('{"text": "a"}\n')
    finding = unknown(make_spec(data=name), tmp_path)
    several = ({"source": "rows/a.jsonl"}, {"source": "rows/b.jsonl"})
    wanted = "rows/b.jsonl" if name.endswith("b*") else list(several)
    assert finding.code == "FTC200"
    assert "rows/b.jsonl" in finding.help
    assert finding.fix[0]["value"] == wanted
    (folder / "b.csv").write_text("text\na\n")
    finding = unknown(make_spec(data=name), tmp_path)
    assert bool(finding.fix) == name.endswith(".jsonl")


def test_file_of_another_machine(make_spec: Any, tmp_path: Path) -> None:
    """A file of that name in the spec's folder is meant; a name that shares its ending is not."""
    (tmp_path / "tickets.csv").write_text("text\na\n")
    finding = unknown(make_spec(data=r"C:\Users\ana\tickets.csv"), tmp_path)
    assert finding.fix[-1]["value"] == "tickets.csv"
    assert not unknown(make_spec(data="sales.csv"), tmp_path).fix


def test_only_a_file_of_rows_is_suggested(make_spec: Any, tmp_path: Path) -> None:
    """A spec, a plan and a folder are no data, however near their names are."""
    (tmp_path / "ticket.json").write_text(' {"name": "x", "data": "tickets.json"}', "utf-8")
    (tmp_path / "tickets.yml").write_text("name: x", encoding="utf-8")
    (tmp_path / "tickets2.json").mkdir()
    (tmp_path / "tickets.jsonl").mkdir()
    finding = unknown(make_spec(data="tickets.json"), tmp_path)
    assert (finding.code, finding.fix) == ("FTC200", ())
    assert "did you mean" not in finding.help
    (tmp_path / "my_tickets.json").write_text('\n[{"text": "a"}]', encoding="utf-8")
    found = unknown(make_spec(data="tickets.json"), tmp_path)
    assert found.fix == ({"op": "replace", "path": "/data", "value": "my_tickets.json"},)


@pytest.mark.parametrize("address", ["https://x.y/rows.jsonl", "s3://b/rows.csv", "gs://b/rows"])
def test_an_address_is_no_file(make_spec: Any, tmp_path: Path, address: str) -> None:
    """Nothing is downloaded from it, and the finding says so."""
    finding = unknown(make_spec(data=address), tmp_path)
    assert finding.code == "FTC200"
    assert "is an address" in finding.message
    assert finding.help.startswith("download the file")


def test_a_header_alone_has_no_rows(make_spec: Any, tmp_path: Path) -> None:
    """The message is whole, although no row has a fault."""
    (tmp_path / "header.csv").write_text("text,label\n", encoding="utf-8")
    finding = unknown(make_spec(data="header.csv"), tmp_path)
    assert finding.code == "FTC204"
    assert finding.message == "`header.csv` names its columns but has no rows"


def test_the_format_that_the_spec_says(make_spec: Any, tmp_path: Path) -> None:
    """An extension that tells nothing, or the wrong thing, is overruled."""
    (tmp_path / "rows.txt").write_text('{"text": "a"}\n', encoding="utf-8")
    facts = known(make_spec(data={"source": "rows.txt", "format": "jsonl"}), tmp_path)
    assert (facts.format, facts.form) == ("jsonl", "text")


def test_a_data_set_of_the_hub(make_spec: Any, tmp_path: Path, hub: Any) -> None:
    """Split and subset choose files; several shards are one table; the commit is pinned."""
    rows = {name: json.dumps({"text": name, "label": 1}).encode() for name in ("a", "b", "c", "d")}
    files = {
        "README.md": b"",
        "plain/train-0.jsonl": rows["a"],
        "plain/train-1.jsonl": rows["b"],
        "plain/test-0.jsonl": rows["c"],
        "other/train-0.jsonl": rows["d"],
    }
    hub.add("datasets/owner/rows", files)
    plain = {"source": "owner/rows", "subset": "plain"}
    facts = known(make_spec(data=plain), tmp_path)
    assert (facts.origin, facts.path, facts.revision) == ("hub", None, "a" * 40)
    assert facts.files == ("plain/train-0.jsonl", "plain/train-1.jsonl")
    assert (facts.rows, facts.prompt, facts.completion) == (2, "text", "label")
    assert not any("test-0" in request for request in hub.requests)
    facts = known(make_spec(data={**plain, "split": "test"}), tmp_path)
    assert facts.files == ("plain/test-0.jsonl",)
    hub.failing = 503
    assert known(make_spec(data=plain), tmp_path).rows == 2


def test_failures_of_a_data_set(make_spec: Any, tmp_path: Path, hub: Any) -> None:
    """Not found, gated, no such split and no network have codes of their own."""
    hub.add("datasets/owner/gated", {"train.csv": b"text\na\n"})
    hub.gated.add("datasets/owner/gated")
    hub.add("datasets/owner/rows", {"train.csv": b"text\na\n", "test.csv": b"text\nb\n"})
    assert unknown(make_spec(data="owner/nothing"), tmp_path).code == "FTC208"
    assert unknown(make_spec(data="owner/gated"), tmp_path).code == "FTC209"
    spec = make_spec(data={"source": "owner/rows", "split": "trian"})
    finding = unknown(spec, tmp_path)
    assert (finding.code, finding.pointer) == ("FTC211", "/data/split")
    assert "`test.csv`, `train.csv`" in finding.help
    hub.failing = 503
    assert unknown(make_spec(data="owner/rows"), tmp_path).code == "FTC210"


def test_facts_are_the_same_twice_and_hold_no_absolute_path(
    make_spec: Any, model_folder: Path
) -> None:
    """Facts go into the lock: they depend on nothing but the spec and the files."""
    folder = model_folder.parent
    (folder / "data.csv").write_text("text,label\na,b\nc,d\n", encoding="utf-8")
    spec = make_spec(data=str(folder / "data.csv"))
    facts = exact(spec, folder)
    assert facts == exact(spec, folder)
    assert (facts.path, facts.source) == ("data.csv", "data.csv")
    assert str(folder) not in repr(facts)


def test_local_folders_need_no_hub_library(make_spec: Any, model_folder: Path) -> None:
    """A cold compile from local files does not pay for importing huggingface_hub."""
    folder = model_folder.parent
    (folder / "data.csv").write_text("text,label\na,b\nc,d\n", encoding="utf-8")
    make_spec()
    program = """
import sys
from pathlib import Path
from ftc.compiler.resolve.data.facts import resolve_data
from ftc.compiler.resolve.hardware import resolve_hardware
from ftc.compiler.resolve.model.facts import resolve_model
from ftc.compiler.resolve.tokenizer.facts import resolve_tokenizer
from ftc.spec.load import load_document
from ftc.spec.validate import validate
spec = validate(load_document("spec.json"))
here = Path()
model = resolve_model(spec, folder=here)
tokenizer = resolve_tokenizer(spec, folder=here, model=model)
assert not resolve_data(spec, folder=here, tokenizer=tokenizer).lengths.estimate
resolve_hardware(spec)
heavy = {"huggingface_hub", "pyarrow", "numpy", "torch", "transformers", "datasets"}
print(sorted(heavy & sys.modules.keys()))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_a_quotation_mark_never_closed(make_spec: Any, tmp_path: Path) -> None:
    """It would swallow every row behind it without a word: the line is named instead."""
    rows = "".join(f"q {n},a\n" for n in range(20))
    (tmp_path / "data.csv").write_text(f'prompt,completion\n{rows}"open,a\n{rows}')
    finding = unknown(make_spec(), tmp_path)
    assert finding.code == "FTC203"
    assert finding.message.endswith("line 22: a quotation mark is never closed")
    (tmp_path / "data.csv").write_text(f'prompt,completion\n{rows}"closed,\n",a')
    assert known(make_spec(), tmp_path).rows == 21


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("d.jsonl", "[1]\n[2]\n", "none of the 2 rows of `d.jsonl` is a JSON object"),
        ("d.jsonl", "a,b\n1,2\n", "none of the 2 rows"),
        ("d.json", "[1, 2, 3]", "none of the 3 rows"),
        ("d.csv", "\nprompt,completion\na,b\n", "the first line of `d.csv` is blank"),
        ("d.jsonl", "", "`d.jsonl` is empty"),
    ],
)
def test_files_without_columns(
    make_spec: Any, tmp_path: Path, name: str, text: str, says: str
) -> None:
    """A file that holds something is not called empty."""
    (tmp_path / name).write_text(text)
    finding = unknown(make_spec(data=name), tmp_path)
    assert (finding.code, says in finding.message) == ("FTC204", True), finding.message


def test_what_is_no_regular_file(make_spec: Any, tmp_path: Path) -> None:
    """A device is there, and is not said to be missing."""
    finding = unknown(make_spec(data={"source": "/dev/null", "format": "csv"}), tmp_path)
    assert "not a regular file" in finding.message


def test_one_answer_for_all(make_spec: Any, tmp_path: Path) -> None:
    """A closed set of one is a set: a rule refuses to train on it."""
    text = "".join(f"q {n},same\n" for n in range(20))
    (tmp_path / "data.csv").write_text("prompt,completion\n" + text)
    assert known(make_spec(), tmp_path).labels == (Label(name="same", rows=20),)


def test_utf_32(make_spec: Any, tmp_path: Path) -> None:
    """Its mark begins like that of UTF-16."""
    rows = "".join(f"q {n},a\n" for n in range(20))
    (tmp_path / "data.csv").write_bytes(f"prompt,completion\n{rows}".encode("utf-32"))
    assert known(make_spec(), tmp_path).rows == 20


@pytest.mark.parametrize("name", ["data.csv", "inner/data.csv"])
def test_data_that_may_not_be_read(
    make_spec: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Rights are named, whether the file's or its folder's, and nothing is to be repaired."""
    (tmp_path / "inner").mkdir()
    path = tmp_path / name
    path.write_text("prompt,completion\na,b\n")
    spec = make_spec(data=name)

    def refuse(self: Path, *_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open" if name == "data.csv" else "stat", refuse)
    found = resolve_data(spec, folder=tmp_path, tokenizer=NO_TOKENIZER)
    assert isinstance(found, Unknown)
    assert found.finding.code == "FTC200"
    assert "cannot be read: permission denied" in found.finding.message
