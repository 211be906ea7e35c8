"""What is read beyond the patterns of fields: roles of columns, values in words, carried values."""

import pytest

from ftc.tui.understanding import reader
from ftc.tui.understanding.learned.linear import NONE
from ftc.tui.understanding.learned.options import list_options
from ftc.tui.understanding.learned.roles import SECTION, assign, find_names
from ftc.tui.understanding.learned.worded import find_clauses
from ftc.tui.understanding.reader import read
from ftc.tui.understanding.text.message import Message
from tests.tui.understanding.wanted.test_licence import DRAFT


def _changes(text: str) -> dict[str, object]:
    return {each.pointer: each.value for each in read(text, DRAFT).changes}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("the note is in Vet Note 2 and the reply in `our answer`", ["Vet Note 2", "our answer"]),
        ("la columna Resposta tècnic té la resposta", ["Resposta tècnic"]),
        ("x.csv: 'ask' -> 'sql_out', on a 4090 with Qwen3 4B", ["ask", "sql_out"]),
    ],
)
def test_a_name_of_a_column_may_be_any_text_that_stands_out(text: str, names: list[str]) -> None:
    """A name may have spaces, accents and capitals; files, models and devices are not names."""
    assert [each.text for each in find_names(text, ())] == names


def test_the_roles_of_a_message_fit_together() -> None:
    """If both names are most likely the prompt, the one with the higher probability gets it."""
    names = find_names("'one' and 'two'", ())
    prompt, completion = f"{SECTION}prompt", f"{SECTION}completion"
    shares = [
        {NONE: 0.1, prompt: 0.6, completion: 0.3},
        {NONE: 0.1, prompt: 0.85, completion: 0.05},
    ]
    found = assign(names, shares)
    assert [(each.text, role) for each, role, _ in found] == [("one", completion), ("two", prompt)]
    assert all(0 < share <= 1 for *_, share in found)


def test_columns_with_odd_names_get_their_roles(monkeypatch: pytest.MonkeyPatch) -> None:
    """The patterns alone would read only a part of each name."""
    text = "tinc sessions.csv, 'frase mal dita' d'entrada i 'frase ben dita' de sortida"
    expected = {
        f"{SECTION}prompt": "frase mal dita",
        f"{SECTION}completion": "frase ben dita",
    }
    assert expected.items() <= _changes(text).items()
    monkeypatch.setattr(reader, "add_roles", lambda _, told, *__: told)
    assert not expected.items() & _changes(text).items()


def test_every_value_of_a_clause_has_a_probability() -> None:
    """They add up to one, and a field that does not apply has none."""
    (clause,) = find_clauses(Message("store one state per row and per column"), DRAFT)[:1]
    shares = clause.weigh()
    assert sum(shares.values()) == pytest.approx(1)
    assert shares.keys() - {NONE} <= {each.key for each in list_options()}
    assert "/objective/pooling=mean" not in shares


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        (
            "validation 4% and the test too",
            {"/data/splits/validation": 0.04, "/data/splits/test": 0.04},
        ),
        ("rango 24 y lo mismo para alfa", {"/method/rank": 24, "/method/alpha": 24}),
        (
            "warmup del 3%, i el weight decay també",
            {"/training/warmup": 0.03, "/training/weight_decay": 0.03},
        ),
        (
            "beta2 zero point nine five, clip cero coma 4",
            {"/training/adam_beta2": 0.95, "/training/max_grad_norm": 0.4},
        ),
        ("is rank 24 any better? never mind, just go with 24", {"/method/rank": 24}),
        (
            "use templates/farm.jinja as the chat template",
            {"/model/chat_template": "templates/farm.jinja"},
        ),
        ("I know about FTC118 and FTC204, silence both", {"/allow": ["FTC118", "FTC204"]}),
        ("make <cow> and <hen> tokens of their own", {"/model/new_tokens": ["<cow>", "<hen>"]}),
    ],
)
def test_a_value_is_read_by_its_form_or_from_the_one_before(
    text: str, changes: dict[str, object]
) -> None:
    """A second field has the value too; spoken decimals are numbers; a code names itself."""
    assert _changes(text) == changes


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("the file is called Farm Visits 2023.csv", "Farm Visits 2023.csv"),
        ("fichero partes 2016_2023.csv, 500 filas", "partes 2016_2023.csv"),
        ("entrena amb Queixes (v2).jsonl", "Queixes (v2).jsonl"),
        ("grpo // farm_local.jsonl // 250 steps", "farm_local.jsonl"),
    ],
)
def test_the_name_of_a_file_may_have_spaces(text: str, source: str) -> None:
    """They belong to it behind "called", and before a number or parentheses."""
    found = {each.pointer: each.value for each in read(text, {}).changes}
    assert found["/data/source"] == source


def test_a_revision_and_a_length_belong_to_what_is_named_before_them() -> None:
    """The teacher and the data have revisions too, and generated answers a length."""
    taught = read("learn from qwen2.5 72b instruct as teacher, at revision v2", DRAFT)
    assert "v2" in {each.value for each in taught.changes if "teacher" in each.pointer}
    generated = _changes("GRPO with 8 answers per prompt, at most 700 tokens each")
    assert generated["/objective/answer_tokens"] == 700
    assert "/data/max_length" not in generated
