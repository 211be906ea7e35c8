"""Data files: formats, encodings, and files that are not tables."""

import json
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from ftc.runtime.read.json_files import parse_line
from tests.compiler.resolve.resolving import CHAT, known, unknown


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_csv_dialects(make_spec: Any, tmp_path: Path, delimiter: str) -> None:
    """Newlines and other delimiters inside quotes do not confuse the detection."""
    lines = [["prompt", "completion", "id"], ['"a, b; c | d\ne"', "x", "1"], ["plain", "y", "2"]]
    text = "\r\n".join(delimiter.join(cells) for cells in lines)
    (tmp_path / "data.csv").write_bytes(text.encode())
    facts = known(make_spec(), tmp_path)
    assert (facts.format, facts.delimiter, facts.columns[0]) == ("csv", delimiter, "prompt")
    assert (facts.rows, facts.usable_rows, facts.malformed_rows) == (2, 2, 0)


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8-sig"),
        ("cp1252", "cp1252"),
        ("utf-16", "utf-16"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
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
    zone = pyarrow.array([1], pyarrow.timestamp("us", "Nowhere/Else"))
    parquet.write_table(pyarrow.table({"sent": zone, "text": ["a"]}), tmp_path / "zone.parquet")
    assert unknown(make_spec(data="zone.parquet"), tmp_path).code == "FTC203"
    parquet.write_table(pyarrow.table({"left": ["a"], "top": ["b"]}), tmp_path / "other.parquet")
    assert unknown(make_spec(data="other.parquet"), tmp_path).code == "FTC206"
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no")
    assert unknown(make_spec(data="bad.parquet"), tmp_path).code == "FTC203"
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert unknown(make_spec(data="rows.parquet"), tmp_path).code == "FTC207"


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
        ("".join(f"[12/03/24, 10:{n}:00] Ana: yes\n" for n in range(10, 30)), None),
        ("".join(f"12.03.24, 10:{n} - Ana: yes\n" for n in range(10, 30)), None),
    ],
)
def test_the_format_that_the_first_lines_show(
    make_spec: Any, tmp_path: Path, content: str, shown: str | None
) -> None:
    """The format is proposed if the extension gives none; for prose, ftc says how to make rows."""
    (tmp_path / "rows.txt").write_text(content, encoding="utf-8")
    finding = unknown(make_spec(data="rows.txt"), tmp_path)
    assert finding.code == "FTC201"
    fix = ({"op": "add", "path": "/data/format", "value": shown},)
    assert finding.fix == (fix if shown else ())
    assert (f"set `data.format` to `{shown}`" if shown else '{"text": "..."}') in finding.help
    if shown:
        known(make_spec(data={"source": "rows.txt", "format": shown}), tmp_path)


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json"])
def test_keys_that_objects_have_twice_are_counted(
    name: str, make_spec: Any, tmp_path: Path
) -> None:
    """The last value is read, as it is when the data is prepared."""
    rows = [
        '{"text": "a", "text": "b"}',
        '{"text": "c", "more": {"x": 1, "x": 2}}',
        '{"text": "d"}',
    ]
    text = "\n".join(rows) if name.endswith("l") else f"[{', '.join(rows)}]"
    (tmp_path / name).write_text(text, encoding="utf-8")
    facts = known(make_spec(data=name, objective="cpt"), tmp_path)
    assert facts.repeated_keys == {"text": 1, "x": 1}
    assert facts.rows == 3
    assert parse_line(rows[0]) == {"text": "b"}


def test_lists_that_are_not_read_are_a_fact(make_spec: Any, tmp_path: Path) -> None:
    """Those beside the rows, if they hold objects."""
    rows = [{"text": "a"}, {"text": "b"}]
    value = {"tags": ["x"], "train": rows, "test": rows[:1], "validation": []}
    (tmp_path / "rows.json").write_text(json.dumps(value), encoding="utf-8")
    assert known(make_spec(data="rows.json"), tmp_path).left_lists == {"test": 1}
    (tmp_path / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    assert known(make_spec(data="rows.json"), tmp_path).left_lists == {}


@pytest.mark.parametrize(
    ("name", "content", "said", "advice"),
    [
        ("a.arrow", b"\xff\xff\xff\xff\x10\0\0\0", "is Arrow", "save the table"),
        ("a.feather", b"ARROW1\0\0", "is Arrow", "save the table"),
        ("a.pkl", b"\x80\x04\x95\x10", "is pickle", "save the table"),
        ("a.npy", b"\x93NUMPY\1\0", "is NumPy", "save the table"),
        ("a.db", b"SQLite format 3\0", "is SQLite", "save the table"),
        ("a.pdf", b"%PDF-1.7", "is PDF", "write its texts"),
        ("a.csv", b"prompt,completion\n" + 30 * b"one\0 two,three\n", "NUL bytes", "tr -d"),
        ("a.csv", bytes(range(256)) * 9, "not a text file", "save the table"),
        ("a.jsonl.gz", b"\x1f\x8b\x08", "is gzip", "`gunzip -k a.jsonl.gz`"),
        ("my rows.csv.zst", b"\x28\xb5\x2f\xfd", "is zstd", "`unzstd -k 'my rows.csv.zst'`"),
        ("a.jsonl", b"\x1f\x8b\x08", "is gzip", "`gunzip < a.jsonl > a-unpacked.jsonl`"),
        ("a.tar.gz", b"\x1f\x8b\x08", "is gzip", "`tar -xf a.tar.gz`"),
        ("a.zip", b"PK\x03\x04", "is zip", "`unzip a.zip`"),
    ],
)
def test_what_a_file_is_and_what_to_make_of_it(
    make_spec: Any, tmp_path: Path, *, name: str, content: bytes, said: str, advice: str
) -> None:
    """No kind of file is advised to be named in `data.format`, which has no word for it."""
    (tmp_path / name).write_bytes(content)
    finding = unknown(make_spec(data=name), tmp_path)
    assert (finding.code, said in finding.message) == ("FTC202", True), finding.message
    assert advice in finding.help


def test_the_file_that_was_unpacked_is_named(make_spec: Any, tmp_path: Path) -> None:
    """The fix names it; the compressed one may stay."""
    (tmp_path / "a.jsonl.gz").write_bytes(b"\x1f\x8b\x08")
    (tmp_path / "a.jsonl").write_text("{}", encoding="utf-8")
    finding = unknown(make_spec(data="a.jsonl.gz"), tmp_path)
    assert finding.help == "name the unpacked file beside it: `a.jsonl`"
    assert [step["value"] for step in finding.fix] == ["a.jsonl"]


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1251", "где заказ номер {n},он в пути"),
        ("koi8-r", "где заказ номер {n},он в пути"),
        ("shift_jis", "注文{n}はどこですか,配送中です"),
        ("gb18030", "我的订单{n}在哪里,正在配送"),
        ("euc-kr", "주문 {n}은 어디에 있나요,배송 중입니다"),
        ("cp1256", "أين الطلب رقم {n},في الطريق"),
    ],
)
def test_other_scripts_are_not_read_as_accents(
    make_spec: Any, tmp_path: Path, encoding: str, text: str
) -> None:
    """Nothing tells the encoding of such bytes, and no model should learn what they look like."""
    lines = ["prompt,completion", *(text.format(n=n) for n in range(30))]
    (tmp_path / "a.csv").write_bytes("\n".join(lines).encode(encoding))
    finding = unknown(make_spec(data="a.csv"), tmp_path)
    assert (finding.code, "not in UTF-8" in finding.message) == ("FTC202", True)
    assert "iconv" in finding.help


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
def test_accents_of_western_europe_are_read(make_spec: Any, tmp_path: Path, encoding: str) -> None:
    """The most accents that a language has there."""
    texts = ("où est passée ma chère clé à reçu ?", "på én gång är öl för blå ägg", "¿dónde está?")
    lines = [
        "prompt,completion",
        *(f"{texts[n % 3]} {n},það er á leiðinni til þín" for n in range(30)),
    ]
    (tmp_path / "a.csv").write_bytes("\n".join(lines).encode(encoding))
    assert known(make_spec(data="a.csv"), tmp_path).usable_rows == 30


def test_unknown_columns_of_parquet(make_spec: Any, tmp_path: Path) -> None:
    """A file that is no text has no title to look for."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [{"a": n, "b": {"text": ["x"]}} for n in range(30)]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    assert unknown(make_spec(data="a.parquet"), tmp_path).code == "FTC206"


def test_a_spreadsheet_is_no_archive_to_unpack(make_spec: Any, tmp_path: Path) -> None:
    """Both are zip files: their contents tell them apart."""
    for name, inside in (("rows.xlsx", "xl/workbook.xml"), ("rows.zip", "rows.csv")):
        with ZipFile(tmp_path / name, "w") as archive:
            archive.writestr(inside, "a")
    finding = unknown(make_spec(data="rows.xlsx"), tmp_path)
    assert "`rows.xlsx` is xlsx, not a table" in finding.message
    assert "save the table as csv, jsonl or parquet" in finding.help
    finding = unknown(make_spec(data="rows.zip"), tmp_path)
    assert "unpack it" in finding.help


def test_a_text_document_is_no_archive_to_unpack(make_spec: Any, tmp_path: Path) -> None:
    """What is inside it is XML: its texts are to be written as rows."""
    with ZipFile(tmp_path / "manual.docx", "w") as archive:
        archive.writestr("word/document.xml", "a")
    finding = unknown(make_spec(data="manual.docx"), tmp_path)
    assert "jsonl" in finding.help
    assert "unpack" not in finding.help


def test_rows_of_tokens_are_told_as_such(make_spec: Any, tmp_path: Path) -> None:
    """No column of them holds a prompt or an answer; numbers that are no lists say nothing."""
    rows = [{"input_ids": [1, n, 2], "labels": [n, 2, 3]} for n in range(30)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "rows.jsonl").write_text(text, encoding="utf-8")
    finding = unknown(make_spec(data="rows.jsonl"), tmp_path)
    assert finding.code == "FTC206"
    assert "numbers of tokens" in finding.help
    assert not finding.fix
    text = "".join(json.dumps({"a": n, "b": n}) + "\n" for n in range(30))
    (tmp_path / "rows.jsonl").write_text(text, encoding="utf-8")
    assert "tokens" not in unknown(make_spec(data="rows.jsonl"), tmp_path).help


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
        ("d.csv", "\n \n", "`d.csv` is empty"),
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


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("{'prompt': 'a', 'completion': None}\n", "these are Python dictionaries"),
        ("{'prompt': open('a')}\n", "write one JSON object per line"),
    ],
)
def test_rows_of_python(make_spec: Any, tmp_path: Path, text: str, advice: str) -> None:
    """Rows that `str` wrote are distinguished from unreadable rows."""
    (tmp_path / "d.jsonl").write_text(text * 2)
    assert advice in unknown(make_spec(data="d.jsonl"), tmp_path).help


def test_utf_32(make_spec: Any, tmp_path: Path) -> None:
    """Its mark begins like that of UTF-16."""
    rows = "".join(f"q {n},a\n" for n in range(20))
    (tmp_path / "data.csv").write_bytes(f"prompt,completion\n{rows}".encode("utf-32"))
    assert known(make_spec(), tmp_path).rows == 20


PAIRS = [{"prompt": f"what is {n}?", "completion": f"it is {n}"} for n in range(4)]


@pytest.mark.parametrize(
    ("name", "text", "advice", "chosen"),
    [
        ("a.jsonl", json.dumps(PAIRS), "one JSON list", "json"),
        ("b.jsonl", json.dumps(PAIRS, indent=2), "one JSON list", "json"),
        ("c.jsonl", "".join(json.dumps(row) + ",\n" for row in PAIRS), "ends with a comma", None),
        ("d.jsonl", "\n".join(json.dumps(row, indent=2) for row in PAIRS), "a part of one", None),
        ("e.json", "\n".join(map(json.dumps, PAIRS)), "one JSON object per line", "jsonl"),
    ],
)
def test_objects_in_another_layout(  # noqa: PLR0917 - a case has four parts
    make_spec: Any, tmp_path: Path, name: str, text: str, advice: str, chosen: str | None
) -> None:
    """The help says how the objects stand in the file, and a fix sets the format where one fits."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    finding = unknown(make_spec(data=name), tmp_path)
    assert advice in finding.help
    assert [step["value"] for step in finding.fix] == ([chosen] if chosen else [])
    if chosen is not None:
        facts = known(make_spec(data={"source": name, "format": chosen}), tmp_path)
        assert facts.usable_rows == len(PAIRS)


@pytest.mark.parametrize(
    "row",
    [
        {
            "contents": [
                {"role": "user", "parts": [{"text": "what is it?"}]},
                {"role": "model", "parts": [{"text": "it is "}, {"text": "this"}]},
            ]
        },
        {
            "schemaVersion": "bedrock-conversation-2024",
            "messages": [
                {"role": "user", "content": [{"text": "what is it?"}]},
                {"role": "assistant", "content": [{"text": "it is this"}]},
            ],
        },
    ],
    ids=["gemini", "bedrock"],
)
def test_rows_of_hosted_trainings(make_spec: Any, tmp_path: Path, row: Any) -> None:
    """The formats of Gemini and Bedrock are conversations."""
    (tmp_path / "data.jsonl").write_text(json.dumps(row), encoding="utf-8")
    facts = known(make_spec(data="data.jsonl"), tmp_path)
    assert (facts.form, facts.usable_rows, facts.malformed_rows) == ("chat", 1, 0)


def test_answers_with_the_weight_0_are_counted(make_spec: Any, tmp_path: Path) -> None:
    """So are the rows of which only the last answer has another weight."""

    def chat(*weights: float | None) -> dict[str, Any]:
        messages = []
        for number, weight in enumerate(weights):
            said = {} if weight is None else {"weight": weight}
            messages += [
                {"role": "user", "content": f"what is {number} of {weights}?"},
                {"role": "assistant", "content": f"it is {number}", **said},
            ]
        return {"messages": messages}

    rows = [chat(0, 1), chat(0.5, None), chat(1, 2), chat(0, 1, 1), chat(1, 1), chat(None)]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    contents = known(make_spec(data="data.jsonl"), tmp_path).contents
    assert contents.weighed_rows == 2


def test_conversations_that_end_with_a_question(make_spec: Any, tmp_path: Path) -> None:
    """The help is about their ends, and not about columns."""
    talk = [{"role": role, "content": "hi"} for role in ("user", "assistant", "user")]
    rows = "".join(json.dumps({"messages": talk, "n": n}) + "\n" for n in range(30))
    (tmp_path / "d.jsonl").write_text(rows, encoding="utf-8")
    finding = unknown(make_spec(data="d.jsonl"), tmp_path)
    assert finding.code == "FTC204"
    assert "remove what follows the assistant's last message" in finding.help
