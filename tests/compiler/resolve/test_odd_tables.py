"""Files that are other tables than they seem: the messages and the fixes."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.resolve.facts import DataFacts, Unknown
from ftc.compiler.resolve.resolver import Resolver
from ftc.compiler.resolve.rows.table import TableFile, inspect_file
from ftc.runtime.read.csv_files import parse_csv
from ftc.spec.findings.finding import Finding
from ftc.spec.validate import to_spec

ROWS = [f"how late is parcel {n},it is {n} days late" for n in range(30)]
PAIRS = {f"how late is parcel {n}?": f"It is {n} days late." for n in range(30)}


def look(folder: Path, name: str, text: str, **data: Any) -> DataFacts | Finding:
    """Return the facts about a file with this text, or what is wrong with it."""
    (folder / name).write_text(text, encoding="utf-8")
    spec: Mapping[str, Any] = {
        "name": "x",
        "model": "Qwen/Qwen2.5-0.5B-Instruct",
        "data": {"source": name, **data},
        "hardware": "1x A100-80GB",
    }
    found = Resolver().resolve(to_spec(spec), folder=folder).data
    return found.finding if isinstance(found, Unknown) else found


@pytest.fixture(autouse=True)
def no_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the Hub out of reach."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))


@pytest.mark.parametrize("line", ["sep=;", "SEP=;", "sep=;;"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_line_of_a_spreadsheet_is_read(tmp_path: Path, line: str, end: str) -> None:
    """It names the delimiter, and is no row."""
    rows = [row.replace(",", ";") for row in ROWS]
    text = end.join([line.replace(";;", ";"), "prompt;completion", *rows])
    found = look(tmp_path, "a.csv", text)
    assert isinstance(found, DataFacts)
    assert (found.columns, found.delimiter, found.rows) == (("prompt", "completion"), ";", 30)


@pytest.mark.parametrize("title", ["Export of tickets 2024", "Export of tickets 2024,"])
def test_a_title_is_named(tmp_path: Path, title: str) -> None:
    """With the commas that a spreadsheet adds, and without; no column is guessed from it."""
    found = look(tmp_path, "a.csv", "\n".join([title, "prompt,completion", *ROWS]))
    assert isinstance(found, Finding)
    assert "begins with a title (`Export of tickets 2024`)" in found.message
    assert found.fix == ()


def test_a_single_column_has_no_title(tmp_path: Path) -> None:
    """Texts with a comma each are not a table of two columns below a title."""
    found = look(tmp_path, "a.csv", "\n".join(["text", *ROWS]))
    assert not isinstance(found, Finding) or "title" not in found.message


def test_a_map_of_questions_is_no_list_of_lines(tmp_path: Path) -> None:
    """One object in one line: reading it as JSON Lines would make its questions columns."""
    found = look(tmp_path, "a.json", json.dumps(PAIRS))
    assert isinstance(found, Finding)
    assert "holds no list of rows" in found.message
    assert found.fix == ()


@pytest.mark.parametrize(("lines", "shown"), [(True, "jsonl"), (False, "json")])
def test_json_that_is_called_csv(tmp_path: Path, *, lines: bool, shown: str) -> None:
    """The message says what the file is, and quotes none of its rows."""
    rows = [{"prompt": prompt, "completion": answer} for prompt, answer in PAIRS.items()]
    text = "\n".join(map(json.dumps, rows)) if lines else json.dumps(rows)
    found = look(tmp_path, "a.json", text, format="csv")
    assert isinstance(found, Finding)
    assert found.message == "`a.json` is JSON, and `data.format` says `csv`"
    assert found.fix == ({"op": "add", "path": "/data/format", "value": shown},)


def test_a_row_in_place_of_names_is_quoted_in_short(tmp_path: Path) -> None:
    """A text of a thousand characters says nothing more."""
    found = look(tmp_path, "a.csv", "\n".join([f"{'word ' * 200},{'other ' * 200}"] * 5))
    assert isinstance(found, Finding)
    assert len(found.message) < 400


def test_the_role_that_an_objective_does_not_read_is_named(tmp_path: Path) -> None:
    """Prompts and answers are there: the label is what is wrong."""
    rows = [f"{row},good" for row in ROWS]
    columns = {"prompt": "body", "completion": "reply", "label": "mark"}
    text = "\n".join(["body,reply,mark", *rows])
    found = look(tmp_path, "a.csv", text, columns=columns)
    assert isinstance(found, Finding)
    assert found.message == "`sft` does not read a column with the role `label`"
    assert found.pointer == "/data/columns/label"


@pytest.mark.parametrize("before", ["\n", "\r\n\r\n", "  \n"])
def test_blank_lines_above_the_names_are_skipped(tmp_path: Path, before: str) -> None:
    """The first line with a text has the names."""
    found = look(tmp_path, "a.csv", before + "\n".join(["prompt,completion", *ROWS]))
    assert isinstance(found, DataFacts)
    assert (found.columns, found.rows) == (("prompt", "completion"), 30)


def test_single_quotes_are_no_part_of_the_texts(tmp_path: Path) -> None:
    """Names in single quotes say how the cells are quoted, also those with a comma inside."""
    rows = [f"'parcel {n}, how late?','it''s {n} days late'" for n in range(30)]
    text = "\n".join(["'prompt','completion'", *rows])
    found = look(tmp_path, "a.csv", text)
    assert isinstance(found, DataFacts)
    assert (found.columns, found.usable_rows) == (("prompt", "completion"), 30)
    _, read = parse_csv(text.splitlines(keepends=True), ",")
    assert list(read)[3] == {"prompt": "parcel 3, how late?", "completion": "it's 3 days late"}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.csv", "\n".join(["prompt,completion", *(f"{row},more" for row in ROWS)]), "header"),
        ("a.jsonl", "\n".join(['{"prompt": "a", "completion": "b"', *(30 * ["{"])]), "JSON object"),
    ],
)
def test_broken_rows_are_described_in_the_words_of_their_format(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    """A table has cells, and lines have objects; neither gets the other's advice."""
    found = look(tmp_path, name, text)
    assert isinstance(found, Finding)
    assert said in found.message
    assert ("JSON" in found.message + found.help) is (said == "JSON object")


@pytest.mark.parametrize("quote", ["", '"'])
def test_lines_may_end_as_on_an_old_macintosh(tmp_path: Path, quote: str) -> None:
    """Spreadsheets still write such files."""
    rows = [quote + row.replace(",", f"{quote},{quote}") + quote for row in ROWS]
    found = look(tmp_path, "a.csv", "\r".join(["prompt,completion", *rows]))
    assert isinstance(found, DataFacts)
    assert (found.columns, found.usable_rows) == (("prompt", "completion"), 30)


def test_marks_between_tabs_do_not_hide_the_delimiter(tmp_path: Path) -> None:
    """An unclosed quotation would swallow the following lines."""
    rows = [f'"late", they say, number {n},\tyes, {n}, "days' for n in range(30)]
    found = look(tmp_path, "a.tsv", "\n".join(["prompt\tcompletion", *rows]))
    assert isinstance(found, DataFacts)
    assert (found.columns, found.usable_rows) == (("prompt", "completion"), 30)


def test_a_title_above_empty_cells_is_named(tmp_path: Path) -> None:
    """Without it the title would be proposed as the column of the prompts."""
    text = "\n".join(["Export of tickets,", ",", "prompt,completion", *ROWS])
    found = look(tmp_path, "a.csv", text)
    assert isinstance(found, Finding)
    assert "begins with a title (`Export of tickets`)" in found.message


def test_a_first_row_of_sentences_names_no_columns(tmp_path: Path) -> None:
    """They are data: as column names, that row would be lost."""
    rows = [f"I lost parcel number {n} today,Please send us parcel {n} back." for n in range(30)]
    found = look(tmp_path, "a.csv", "\n".join(rows))
    assert isinstance(found, Finding)
    assert "has no line with the names of its columns" in found.message
    assert found.fix == ()


def test_questions_of_a_survey_are_names(tmp_path: Path) -> None:
    """Questions may be the column names of a survey."""
    first = "What did the customer ask you?,What did you answer the customer?"
    found = look(tmp_path, "a.csv", "\n".join([first, *ROWS]))
    assert isinstance(found, Finding)
    assert "are not recognised" in found.message


OBJECTS = [{"prompt": prompt, "completion": answer} for prompt, answer in PAIRS.items()]
LINES = [json.dumps(row) for row in OBJECTS]
MESSAGE = '{"messages": [\n{"role": "user", "content": "hi"},\n{"role": "assistant"}\n]}'


@pytest.mark.parametrize(
    ("text", "said", "shown"),
    [
        (",\n".join(LINES), "ends with a comma", None),
        ("[\n" + ",\n".join(LINES) + "\n]", "one JSON list of objects", "json"),
        ("\n".join(30 * [MESSAGE]), "one object per line", None),
        ("\n".join(json.dumps([row]) for row in OBJECTS), "each row as an object", None),
        ("\n".join(["prompt,completion", *ROWS]), "a CSV table", "csv"),
    ],
)
def test_another_layout_than_lines_of_json_is_named(
    tmp_path: Path, text: str, said: str, shown: str | None
) -> None:
    """Also if the last line is an object, which would be the only training row."""
    found = look(tmp_path, "a.jsonl", text)
    assert isinstance(found, Finding)
    assert (found.code, said in found.help) == ("FTC204", True)
    assert [patch["value"] for patch in found.fix] == ([shown] if shown else [])


def test_a_few_broken_lines_are_left_out(tmp_path: Path) -> None:
    """A few broken lines do not change the format."""
    found = look(tmp_path, "a.jsonl", "\n".join([LINES[0] + ",", *LINES[1:]]))
    assert isinstance(found, DataFacts)
    assert (found.usable_rows, found.malformed_rows) == (29, 1)


@pytest.mark.parametrize(("labels", "neutral"), [((1, 0, -1), 10), ((1, 0), 0), ((1, -1), 0)])
def test_neutral_labels_are_counted(tmp_path: Path, labels: tuple[int, ...], neutral: int) -> None:
    """A 0 is neutral only where -1 is the label of bad answers."""
    rows = [
        {"prompt": f"how late is {n}?", "completion": f"{n} days", "label": labels[n % len(labels)]}
        for n in range(30)
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    spec = {
        "name": "x",
        "model": "Qwen/Qwen2.5-0.5B-Instruct",
        "data": "a.jsonl",
        "objective": "kto",
        "hardware": "1x A100-80GB",
    }
    found = Resolver().resolve(to_spec(spec), folder=tmp_path).data
    assert isinstance(found, DataFacts)
    assert found.contents.neutral_rows == neutral


def test_remarks_above_the_names_are_a_title(tmp_path: Path) -> None:
    """Several lines of one text each, as an export writes above its table."""
    found = look(tmp_path, "a.csv", "\n".join(["# a", "# of 2024", "prompt,completion", *ROWS]))
    assert isinstance(found, Finding)
    assert "begins with a title (`# a`)" in found.message


def test_a_long_list_is_no_lines_of_json(tmp_path: Path) -> None:
    """The advice is `json`, although the last object is on a separate line."""
    rows = [{"prompt": f"how late is {n}?", "completion": f"{n} days"} for n in range(300)]
    found = look(tmp_path, "a.jsonl", "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
    assert isinstance(found, Finding)
    assert "set `data.format` to `json`" in found.help
    assert found.fix[0]["value"] == "json"


@pytest.mark.parametrize(
    ("encoding", "said"),
    [("shift_jis", "質問"), ("koi8_r", "вопрос"), ("gb18030", "问题"), ("euc_kr", "질문입니다")],
)
def test_a_few_words_of_another_script_are_not_western(
    tmp_path: Path, encoding: str, said: str
) -> None:
    """Most of the text is English, whose letters all encodings share."""
    rows = [f"{said} {row}" for row in ROWS]
    path = tmp_path / "a.csv"
    path.write_bytes("\n".join(["prompt,completion", *rows]).encode(encoding))
    assert inspect_file(path, "csv") == "foreign"


@pytest.mark.parametrize(
    "said",
    [
        "où est mon colis déjà payé, « très » urgent ? créée",
        "¿dónde está mi envío? — “ya” lo pagué",
        "Þú átt að fá því að það er þannig, kæri vinur, á morgun",
        "var är min på förra året köpta låda, för öl åt mig",
        "não há correção nem opções às avós",
    ],
)
def test_the_languages_of_western_europe_are_read(tmp_path: Path, said: str) -> None:
    """Their accents stand alone, and so do most of their quotation marks."""
    path = tmp_path / "a.csv"
    path.write_bytes("\n".join(["prompt;completion", *[f"{said};{said}"] * 30]).encode("cp1252"))
    file = inspect_file(path, "csv")
    assert isinstance(file, TableFile)
    assert file.encoding == "cp1252"


def test_messages_may_say_their_text_as_text(tmp_path: Path) -> None:
    """A role and a text are a message, whatever the key of the text is called."""
    turns = [{"role": "user", "text": "how late?"}, {"role": "assistant", "text": "a day"}]
    found = look(tmp_path, "a.jsonl", "\n".join([json.dumps({"messages": turns})] * 30))
    assert isinstance(found, DataFacts)
    assert found.usable_rows == 1


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (
            [{"speaker": "a", "line": "x"}, {"speaker": "b", "line": "y"}],
            "keys `speaker` and `line`",
        ),
        (
            [
                {"role": "user", "content": "x"},
                {"role": "assistant", "content": [{"type": "tool_use", "name": "f", "input": {}}]},
            ],
            "parts of the kind `tool_use`: write calls of tools as `tool_calls`",
        ),
        ({"user": "x", "assistant": "y"}, "as a list of messages: `[{"),
    ],
)
def test_the_help_names_what_messages_hold(tmp_path: Path, cell: object, said: str) -> None:
    """In place of a role and a text, and how to write it."""
    found = look(tmp_path, "a.jsonl", "\n".join([json.dumps({"messages": cell})] * 30))
    assert isinstance(found, Finding)
    assert said in found.help


def test_a_column_of_lists_of_turns_is_told(tmp_path: Path) -> None:
    """Texts without roles, which no name of a column would make a conversation."""
    rows = [{"dialog": [f"how late is {n}?", f"{n} days"]} for n in range(30)]
    found = look(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows)))
    assert isinstance(found, Finding)
    assert "`dialog` holds lists of texts: write each as a list of messages" in found.help
