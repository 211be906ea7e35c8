"""Tables and lists of rows: what is read, and what is said of a file that is broken."""

import json
from pathlib import Path

import pytest

from ftc.runtime.read.csv_files import parse_csv, read_csv
from ftc.runtime.read.json_files import parse_json, parse_lines, read_json, read_jsonl
from ftc.runtime.read.rows import CHUNK_ROWS, DataError


def test_rows_of_a_table_have_the_names_of_its_header() -> None:
    """Quoted cells may contain delimiters and line ends; blank lines are no rows."""
    header, rows = parse_csv(["a;b\n", '1;"x;\n', 'y"\n', "\n", "2;z\n"], ";")
    assert header == ["a", "b"]
    assert list(rows) == [{"a": "1", "b": "x;\ny"}, {"a": "2", "b": "z"}]


def test_a_row_with_too_many_cells_is_broken_and_one_with_too_few_is_not() -> None:
    """Cells that are missing at the end are missing roles, which a later check names."""
    _, rows = parse_csv(["a,b\n", "1,2,3\n", "4\n"], ",")
    assert list(rows) == [None, {"a": "4"}]


@pytest.mark.parametrize(
    "row",
    [
        '"where is it?,"It is on its way, since Monday."\n',  # a mark is missing
        '"He said \\"where, is it?\\"","late"\n',  # marks are escaped as MySQL does
        '"x\nsays "hi" to y","late"\n',
    ],
)
def test_text_after_a_closing_mark_makes_a_row_broken(row: str) -> None:
    """A lenient reader would move the cells: a part of the prompt would be the answer."""
    text = f'a,b\n{row}"x, ""y""","z"\n'
    _, rows = parse_csv(text.splitlines(keepends=True), ",")
    assert list(rows) == [None, {"a": 'x, "y"', "b": "z"}]


@pytest.mark.parametrize("row", ['"x, y" ,"z"', '"x, y","z"  ', '"x, y"  , z', '40" tv,z'])
def test_spaces_around_cells_and_marks_inside_them_are_no_fault(row: str) -> None:
    """Only a cell that begins with a mark is quoted."""
    _, rows = parse_csv(["a,b\n", f"{row}\n", "1,2\n"], ",")
    first, last = rows
    assert first is not None
    assert [cell.strip() for cell in first.values()][1] == "z"
    assert last == {"a": "1", "b": "2"}


@pytest.mark.parametrize("cell", ['"Hi" he said', '"Hi, he said', '"Hi" and "bye"'])
def test_marks_between_tabs_are_letters(cell: str) -> None:
    """Many tab-separated files do not quote; a fully quoted cell is still a quotation."""
    _, rows = parse_csv(["a\tb\n", f"{cell}\tsalut\n", '"x"\ty\n'], "\t")
    assert list(rows) == [{"a": cell, "b": "salut"}, {"a": '"x"', "b": "y"}]
    _, rows = parse_csv(["a\tb\n", '"x\ty"\tz\n', '"q"\tr\n'], "\t")
    assert list(rows) == [{"a": "x\ty", "b": "z"}, {"a": "q", "b": "r"}]


def test_a_space_after_each_delimiter_is_no_part_of_the_cells() -> None:
    """A quotation after the space may contain delimiters."""
    header, rows = parse_csv(['"a", "b"\n', '"1, 2", "3, 4"\n', "5, 6\n"], ",")
    assert header == ["a", "b"]
    assert list(rows) == [{"a": "1, 2", "b": "3, 4"}, {"a": "5", "b": "6"}]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["a,b\n", '"x"y,"\n', "1,2\n"], "line 2: a quotation mark is never closed"),
        (["a,b\n", "1,2\n", '3,"4\n', "5,6\n"], "line 3: a quotation mark is never closed"),
        (['"a\n'], "line 1: a quotation mark is never closed"),
    ],
)
def test_an_open_quotation_is_named_by_the_line_where_it_begins(
    lines: list[str], said: str
) -> None:
    """The reader itself would take the rest of the file as one cell."""
    with pytest.raises(DataError, match=said):
        list(parse_csv(lines, ",")[1])


def test_files_are_read_one_after_the_other_in_chunks(tmp_path: Path) -> None:
    """No chunk has rows of two files."""
    paths = [tmp_path / "1.csv", tmp_path / "2.csv"]
    for path in paths:
        rows = "".join(f"{number}\n" for number in range(CHUNK_ROWS + 1))
        path.write_text(f"n\n{rows}", encoding="utf-8")
    chunks = list(read_csv(paths, encoding="utf-8", delimiter=","))
    assert [len(chunk) for chunk in chunks] == [CHUNK_ROWS, 1, CHUNK_ROWS, 1]
    assert chunks[3] == [{"n": str(CHUNK_ROWS)}]


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    """The sentence has the path and the line."""
    path = tmp_path / "rows.csv"
    path.write_text('a\n"1\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"rows\.csv cannot be read: line 2: a quotation mark"):
        list(read_csv([path], encoding="utf-8", delimiter=","))
    path = tmp_path / "rows.json"
    path.write_text('[{"a": 1},\n]', encoding="utf-8")
    with pytest.raises(DataError, match=r"rows\.json cannot be read: line \d: "):
        list(read_json([path], encoding="utf-8"))


def test_lines_are_parsed_where_they_are_worked_on(tmp_path: Path) -> None:
    """Blank lines are left out; a broken line is None, and its neighbours are rows."""
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n\n{"a": \n[2]\n', encoding="utf-8")
    (chunk,) = read_jsonl([path], encoding="utf-8")
    assert chunk == ['{"a": 1}\n', '{"a": \n', "[2]\n"]
    assert list(parse_lines([*chunk, "[" * 100_000])) == [{"a": 1}, None, [2], None]


@pytest.mark.parametrize("text", ['[{"a": 1}]', '{"meta": {}, "data": [{"a": 1}]}'])
def test_json_is_a_list_or_holds_one_under_a_usual_key(text: str) -> None:
    """As exports of annotation tools do."""
    assert parse_json(text) == [{"a": 1}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1}', "it holds no list of rows"),
        ("[1,\n2", "line 2: "),
        ("[" * 100_000, "it is nested too deeply"),
        ("[" + "9" * 5000 + "]", "a number too long"),
    ],
)
def test_what_is_no_list_of_rows_is_said(text: str, said: str) -> None:
    """One sentence, and no error of a library."""
    with pytest.raises(DataError, match=said):
        parse_json(text)


@pytest.mark.parametrize(
    "wrapped",
    [
        {"data": [{"a": 1}], "rows": 7, "notes": [{"b": 2}]},
        {"version": "2", "tags": ["x"], "none": [], "tickets": [{"a": 1}]},
    ],
)
def test_the_list_of_rows_inside_an_object(wrapped: dict[str, object]) -> None:
    """It is under a usual key, or is the only list of objects."""
    assert parse_json(json.dumps(wrapped)) == [{"a": 1}]


@pytest.mark.parametrize(
    "value",
    [
        {"tickets": [{"a": 1}], "people": [{"b": 2}]},
        {"a": ["x", "y"]},
        {"conversation": [{"role": "user", "content": "hi"}]},
        {"a": {"0": "x"}},
    ],
)
def test_an_object_of_no_list_or_of_two(value: dict[str, object]) -> None:
    """Nothing says which of two lists is meant, and the messages of a conversation are no rows."""
    with pytest.raises(DataError, match="holds no list of rows"):
        parse_json(json.dumps(value))
