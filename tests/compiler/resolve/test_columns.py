"""Columns that are missing, duplicated or not recognised, and the proposals for them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.resolve.rows.guess import guess_columns
from ftc.spec.findings.finding import Finding
from tests.compiler.resolve.resolving import known, unknown

COUNT = 40
TEXTS = [f"the {n}th message that somebody wrote" for n in range(COUNT)]
REPLIES = [f"the {n}th reply that somebody got" for n in range(COUNT)]
SPAM = [str(n % 2) for n in range(COUNT)]
DAYS = [f"2026-01-{n % 28 + 1:02}T10:{n:02}" for n in range(COUNT)]


@pytest.mark.parametrize(
    ("columns", "guess"),
    [
        (
            {
                "question": [f"how many orders did client {n} make" for n in range(9)],
                "query": ["SELECT COUNT(*) FROM orders WHERE id = 7"] * 9,
            },
            ("question", "query"),
        ),
        (
            {
                "query": ["select name from users\nwhere id = 7 and active"] * 9,
                "text": [f"what is the name of user {n}" for n in range(9)],
            },
            ("text", "query"),
        ),
        ({"when": DAYS, "customer": TEXTS, "agent": REPLIES}, ("customer", "agent")),
        ({"when": DAYS, "tweet": TEXTS, "is_spam": SPAM}, ("tweet", "is_spam")),
        ({"tweet": TEXTS, "is_spam": SPAM, "is_rude": SPAM}, None),
        ({"when": DAYS, "task": TEXTS}, ("task", None)),
        ({"a": TEXTS, "b": REPLIES, "c": [f"{text}!" for text in TEXTS]}, None),
        ({"a": TEXTS, "b": ["", *["a reply of words"] * (COUNT // 2)] + [""] * COUNT}, None),
        ({"when": DAYS, "is_spam": SPAM}, None),
        ({"context": TEXTS, "question": REPLIES}, None),
        ({"response": TEXTS, "question": REPLIES}, ("question", "response")),
        ({"question": TEXTS, "answers": [[text] for text in TEXTS], "context": REPLIES}, None),
        ({}, None),
    ],
)
def test_columns_are_guessed_from_what_they_hold(
    columns: dict[str, list[Any]], guess: tuple[str, str | None] | None
) -> None:
    """A guess needs two columns of texts, or one and one of labels, or one alone."""
    rows = [
        dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=False)
    ]
    assert guess_columns(list(columns), rows) == guess


def find(make_spec: Any, folder: Path, header: str, cells: Iterable[tuple[str, ...]]) -> Finding:
    """Write a file and return the finding about its columns."""
    lines = [header, *(",".join(row) for row in cells)]
    (folder / "data.csv").write_text("\n".join(lines), encoding="utf-8")
    return unknown(make_spec(), folder)


def test_guessed_columns_are_proposed_with_a_fix(make_spec: Any, tmp_path: Path) -> None:
    """A guess is never applied as a safe fix."""
    finding = find(make_spec, tmp_path, "tweet,is_spam", zip(TEXTS, SPAM, strict=True))
    assert (finding.code, finding.fix_safety) == ("FTC206", "unsafe")
    value = {"prompt": "tweet", "completion": "is_spam"}
    assert finding.fix == ({"op": "add", "path": "/data/columns", "value": value},)
    assert '"prompt": "tweet"' in finding.help


def test_columns_of_another_objective_name_it(make_spec: Any, tmp_path: Path) -> None:
    """Pairs of answers are for `dpo`."""
    rows = zip(TEXTS, REPLIES, SPAM, strict=True)
    finding = find(make_spec, tmp_path, "question,chosen,rejected", rows)
    assert finding.fix == ({"op": "add", "path": "/objective/type", "value": "dpo"},)
    assert "set `objective` to `dpo`" in finding.help


def test_missing_columns_are_suggested(make_spec: Any, tmp_path: Path) -> None:
    """A misspelt column gets the nearest one as a fix; unknown columns are listed."""
    (tmp_path / "data.csv").write_text("Mesage,Team\na,b\n", encoding="utf-8")
    columns = {"prompt": "message", "completion": "Team"}
    finding = unknown(make_spec(data={"source": "data.csv", "columns": columns}), tmp_path)
    assert (finding.code, finding.pointer) == ("FTC205", "/data/columns/prompt")
    patch = {"op": "replace", "path": "/data/columns/prompt", "value": "Mesage"}
    assert finding.fix == (patch,)
    finding = unknown(make_spec(), tmp_path)
    assert finding.code == "FTC206"
    assert "`Mesage`, `Team`" in finding.message
    finding = unknown(make_spec(data={"source": "data.csv", "form": "chat"}), tmp_path)
    assert finding.code == "FTC206"
    assert "`messages`" in finding.help


@pytest.mark.parametrize(
    ("prompt", "completion", "fixed"),
    [
        ("txt", "intent", {"prompt": "text"}),
        ("intent", "txt", {"completion": "text"}),
        ("txt", "categry", {"prompt": "text", "completion": "category"}),
        ("txt", "text", {}),
        ("txt", "texts", {"completion": "text"}),
    ],
)
def test_no_column_is_suggested_for_two_roles(
    make_spec: Any, tmp_path: Path, prompt: str, completion: str, fixed: dict[str, str]
) -> None:
    """Every missing column is named at once, and each column goes to one role."""
    (tmp_path / "data.csv").write_text("text,category\na,b\n", encoding="utf-8")
    columns = {"prompt": prompt, "completion": completion}
    finding = unknown(make_spec(data={"source": "data.csv", "columns": columns}), tmp_path)
    assert finding.code == "FTC205"
    for name in {prompt, completion} - {"text"}:
        assert f"`{name}`" in finding.message
    found = {patch["path"].rsplit("/")[-1]: patch["value"] for patch in finding.fix}
    assert found == fixed


def test_a_lacking_column_is_named_for_the_objective(make_spec: Any, tmp_path: Path) -> None:
    """Pairs lack `rejected`; nobody needs a completion."""
    (tmp_path / "pairs.csv").write_text("prompt,chosen\na,b\n")
    finding = unknown(make_spec(data="pairs.csv", objective={"type": "dpo"}), tmp_path)
    assert finding.code == "FTC206"
    assert finding.message.startswith("`dpo` finds no column for `rejected`: `pairs.csv` has")
    assert "completion" not in finding.help


def test_a_needed_column_that_is_there_twice(make_spec: Any, tmp_path: Path) -> None:
    """Either might be meant, so neither is taken; a column that nothing reads may be double."""
    path = tmp_path / "data.csv"
    path.write_text("prompt,completion,completion\n" + "a,b,c\n" * 3)
    finding = unknown(make_spec(), tmp_path)
    assert finding.code == "FTC212"
    assert "`completion`" in finding.message
    path.write_text("prompt,completion,id,id\n" + "a,b,c,d\n" * 3)
    assert known(make_spec(), tmp_path).completion == "completion"


@pytest.mark.parametrize(
    ("objective", "header", "meant"),
    [
        ("sft", "anchor,positive,negative", "embed"),
        ("dpo", "anchor,positive,negative", "embed"),
        ("reward", "sentence1,sentence2,score", "embed"),
        ("reward", "prompt,completion,label", "kto"),
        ("dpo", "prompt,completion,score", "sft"),
        ("dpo", "text,category,when", "sft"),
    ],
)
def test_the_proposed_objective_reads_these_columns(
    make_spec: Any, tmp_path: Path, objective: str, header: str, meant: str
) -> None:
    """It is not the spec's own objective, and it has a role for most of the columns."""
    last = [str(n % 2) for n in range(COUNT)]
    (tmp_path / "data.csv").write_text(
        "\n".join([header, *map(",".join, zip(TEXTS, REPLIES, last, strict=True))])
    )
    finding = unknown(make_spec(objective={"type": objective}), tmp_path)
    assert finding.code == "FTC206"
    assert finding.fix == ({"op": "add", "path": "/objective/type", "value": meant},)


def test_no_objective_is_proposed_that_reads_no_row(make_spec: Any, tmp_path: Path) -> None:
    """Conversations that wait for an answer would only be refused for another reason."""
    line = '{"messages": [{"role": "user", "content": "What is it?"}]}\n'
    (tmp_path / "asked.jsonl").write_text(line * 20)
    finding = unknown(make_spec(data="asked.jsonl", objective={"type": "dpo"}), tmp_path)
    assert (finding.code, finding.fix) == ("FTC206", ())


def test_texts_are_proposed_as_prompts_where_answers_are_sampled(
    make_spec: Any, tmp_path: Path
) -> None:
    """Another objective would leave out the teacher or the rewards."""
    (tmp_path / "data.csv").write_text("\n".join(["text", *TEXTS]))
    finding = unknown(make_spec(objective={"type": "grpo", "rewards": [{"regex": "x"}]}), tmp_path)
    value = {"prompt": "text"}
    assert finding.fix == ({"op": "add", "path": "/data/columns", "value": value},)


def test_a_column_with_two_roles_is_named(make_spec: Any, tmp_path: Path) -> None:
    """The column is recognised: what is wrong is that it stands twice."""
    (tmp_path / "data.csv").write_text("text,category\na,b\n")
    columns = {"prompt": "text", "completion": "text"}
    finding = unknown(make_spec(data={"source": "data.csv", "columns": columns}), tmp_path)
    assert (finding.code, finding.pointer) == ("FTC206", "/data/columns/completion")
    assert "gives the column `text` two roles, `prompt` and `completion`" in finding.message


def test_a_role_that_the_named_ones_need_is_told(make_spec: Any, tmp_path: Path) -> None:
    """`input` and `output` belong to rows with an instruction."""
    (tmp_path / "data.csv").write_text("message,intent\na,b\n")
    columns = {"input": "message", "output": "intent"}
    finding = unknown(make_spec(data={"source": "data.csv", "columns": columns}), tmp_path)
    assert finding.code == "FTC206"
    assert "rows with `input` and `output` have `instruction` too" in finding.help
    assert [step["value"].keys() for step in finding.fix] == [{"prompt", "completion"}]
    assert finding.fix_safety == "unsafe"


def test_columns_are_proposed_where_one_name_is_known(make_spec: Any, tmp_path: Path) -> None:
    """`Categoría` is a usual name of labels, and the other column holds texts."""
    texts = [f"ticket {number} dice algo,{('alta', 'baja')[number % 2]}" for number in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(["Texto del ticket,Categoría", *texts]))
    finding = unknown(make_spec(data="t.csv", objective={"type": "classification"}), tmp_path)
    named = {"prompt": "Texto del ticket", "completion": "Categoría"}
    assert [step["value"] for step in finding.fix] == [named]


def test_texts_to_compare_are_no_prompts_and_answers(make_spec: Any, tmp_path: Path) -> None:
    """The advice to an embedding model speaks of texts that belong together, and of scores."""
    rows = [f"una frase {n} corta,otra frase {n} corta,{n % 2}" for n in range(40)]
    (tmp_path / "p.csv").write_text("\n".join(["frase1,frase2,parecido", *rows]))
    finding = unknown(make_spec(data="p.csv", objective={"type": "embed"}), tmp_path)
    assert finding.code == "FTC206"
    assert "belong together" in finding.help


CHAT = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]


def find_of_rows(make_spec: Any, folder: Path, rows: list[Any], **fields: Any) -> Finding:
    """Write rows as JSON and return the finding about them."""
    (folder / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    return unknown(make_spec(data="rows.json", **fields), folder)


def test_one_column_of_texts_needs_another_to_be_compared(make_spec: Any, tmp_path: Path) -> None:
    """Neither `sft` nor the names of two columns would help."""
    rows = "".join(f"{number},the road to town {number} is quiet\n" for number in range(9))
    (tmp_path / "texts.csv").write_text(f"id,text\n{rows}")
    for objective in ("embed", "rerank"):
        finding = unknown(make_spec(data="texts.csv", objective=objective), tmp_path)
        assert finding.message.startswith(f"`{objective}` finds no column for `prompt`")
        assert "add a column with the other text of each row" in finding.help
        assert not finding.fix


def test_a_column_of_conversations_is_proposed(make_spec: Any, tmp_path: Path) -> None:
    """A column of conversations is recognised by its values."""
    rows = [{"turns": CHAT, "meta": {"a": "b"}}] * COUNT
    finding = find_of_rows(make_spec, tmp_path, rows)
    value = {"messages": "turns"}
    assert finding.code == "FTC206"
    assert finding.fix == ({"op": "add", "path": "/data/columns", "value": value},)
    assert not find_of_rows(make_spec, tmp_path, rows, objective="dpo").fix
    two = [{"turns": CHAT, "more": CHAT}] * COUNT
    assert not find_of_rows(make_spec, tmp_path, two).fix


@pytest.mark.parametrize(
    "cell", [{"en": "hi", "ca": "hola", "n": 1}, [{"en": "hi", "ca": "hola"}, {"en": "bye"}]]
)
def test_texts_inside_objects_are_named(make_spec: Any, tmp_path: Path, cell: object) -> None:
    """A column of objects, or of lists of them, has no text that could be read."""
    finding = find_of_rows(make_spec, tmp_path, [{"translation": cell}] * COUNT)
    assert "`translation` holds objects" in finding.help
    assert "`translation.en`, `translation.ca`" in finding.help
    assert not finding.fix


def test_lists_of_texts_are_named(make_spec: Any, tmp_path: Path) -> None:
    """Advice to name their column would only lead to the next finding."""
    rows = [{"question": text, "answers": [text, "no"]} for text in TEXTS]
    finding = find_of_rows(make_spec, tmp_path, rows)
    assert "`answers` holds lists of texts: write one text in each row" in finding.help
    assert not finding.fix
    tagged = [{"a": text, "b": f"{text}!", "c": f"{text}?", "tags": ["x", "y"]} for text in TEXTS]
    assert "lists of texts" not in find_of_rows(make_spec, tmp_path, tagged).help


def test_answers_inside_an_object_are_no_other_column(make_spec: Any, tmp_path: Path) -> None:
    """SQuAD has such answers; its passages were proposed instead."""
    rows = [
        {"question": text, "context": reply, "answers": {"text": [reply], "answer_start": [0]}}
        for text, reply in zip(TEXTS, REPLIES, strict=True)
    ]
    finding = find_of_rows(make_spec, tmp_path, rows)
    assert "`answers` holds objects: write their texts (`answers.text`)" in finding.help
    assert not finding.fix


def test_conversations_inside_objects_are_named(make_spec: Any, tmp_path: Path) -> None:
    """The key that holds them is named, with or without answers, and not the keys of texts."""
    for turns in (CHAT, CHAT[:1]):
        body = {"model": "gpt", "messages": turns}
        finding = find_of_rows(make_spec, tmp_path, [{"id": "a", "body": body}] * COUNT)
        assert "`body.messages` holds the conversations" in finding.help
        assert "body.model" not in finding.help


def test_preferences_of_hosted_trainings(make_spec: Any, tmp_path: Path) -> None:
    """OpenAI's rows: messages inside `input`, and an answer of each kind as a list."""
    rows = [
        {
            "input": {"messages": [{"role": "user", "content": f"q {n}"}], "tools": []},
            "preferred_output": [{"role": "assistant", "content": f"good {n}"}],
            "non_preferred_output": [{"role": "assistant", "content": f"bad {n}"}],
        }
        for n in range(COUNT)
    ]
    (tmp_path / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    found = known(make_spec(data="rows.json", objective="dpo"), tmp_path)
    assert (found.form, found.usable_rows) == ("preference", COUNT)
    assert (found.prompt, found.chosen) == ("input", "preferred_output")


def test_objects_beside_texts_are_left_alone(make_spec: Any, tmp_path: Path) -> None:
    """The columns of texts are proposed, as without the objects."""
    rows = [{"mail": t, "got": r, "meta": {"a": "b"}} for t, r in zip(TEXTS, REPLIES, strict=True)]
    assert find_of_rows(make_spec, tmp_path, rows).fix[0]["value"]["prompt"] == "mail"


def test_a_table_without_a_header_is_told(make_spec: Any, tmp_path: Path) -> None:
    """A header that is really a row: a column repeats its name, or the name is a long text."""
    rows = list(zip(TEXTS, ["good", "bad"] * (COUNT // 2), strict=True))
    finding = find(make_spec, tmp_path, "the very first message,good", rows)
    assert "has no line with the names of its columns" in finding.message
    assert "prompt,completion" in finding.help
    assert not finding.fix
    finding = find(make_spec, tmp_path, "the very first message " * 4 + ",x", rows)
    assert "has no line with the names of its columns" in finding.message


def test_lists_of_texts_are_told_as_lists(make_spec: Any, tmp_path: Path) -> None:
    """A list of answers or labels is not a single answer."""
    rows: list[Any] = [{"query": t, "pos": [t], "neg": [t, t]} for t in TEXTS]
    finding = find_of_rows(make_spec, tmp_path, rows, objective="embed")
    assert (finding.code, "several rows" in finding.help) == ("FTC204", True)
    rows = [{"text": t, "labels": ["a", "b"]} for t in TEXTS]
    finding = find_of_rows(make_spec, tmp_path, rows, objective="classification")
    assert (finding.code, "one label" in finding.help) == ("FTC204", True)


def test_rows_and_files_of_another_shape_are_told_what_to_write(
    make_spec: Any, tmp_path: Path
) -> None:
    """Conversations without a name, and a table by columns."""
    assert '{"messages": [...]}' in find_of_rows(make_spec, tmp_path, [CHAT] * 3).help
    (tmp_path / "rows.json").write_text('{"a": {"0": "x"}}', encoding="utf-8")
    assert "list of objects" in unknown(make_spec(data="rows.json"), tmp_path).help


@pytest.mark.parametrize(
    "words", [("up", "down"), (1, 0), ("\N{THUMBS UP SIGN}", "\N{THUMBS DOWN SIGN}"), (True, False)]
)
def test_a_column_of_verdicts_is_proposed(
    make_spec: Any, tmp_path: Path, words: tuple[Any, Any]
) -> None:
    """By its words, whatever it is called, and with the other columns if they need a name too."""
    rows: list[Any] = [
        {"question": t, "answer": t, "vote": words[n % 2]} for n, t in enumerate(TEXTS)
    ]
    finding = find_of_rows(make_spec, tmp_path, rows, objective="kto")
    assert [edit["value"] for edit in finding.fix] == [{"label": "vote"}]
    assert '`"columns": {"label": "vote"}`' in finding.help
    rows = [{"was": r["question"], "sagte": r["answer"], "vote": r["vote"]} for r in rows]
    finding = find_of_rows(make_spec, tmp_path, rows, objective="kto")
    named = {"prompt": "was", "completion": "sagte", "label": "vote"}
    assert [edit["value"] for edit in finding.fix] == [named]


def test_no_verdicts_are_proposed_where_two_columns_have_them(
    make_spec: Any, tmp_path: Path
) -> None:
    """Nothing tells which of the two judges the answer."""
    rows = [
        {"question": t, "answer": t, "vote": n % 2, "other": n % 2} for n, t in enumerate(TEXTS)
    ]
    assert '"columns"' not in find_of_rows(make_spec, tmp_path, rows, objective="kto").help


def test_pairs_of_an_arena_are_told(make_spec: Any, tmp_path: Path) -> None:
    """A third column names the better answer, so that neither column is that of chosen ones."""
    rows: list[Any] = [
        {"q": t, "response_a": f"{t}!", "response_b": f"{t}?", "winner": f"model_{'ab'[n % 2]}"}
        for n, t in enumerate(TEXTS)
    ]
    finding = find_of_rows(make_spec, tmp_path, rows, objective="dpo")
    assert (finding.code, finding.fix) == ("FTC206", ())
    assert "`winner` names the better of `response_a` and `response_b`" in finding.help


@pytest.mark.parametrize(
    ("row", "objective", "roles"),
    [
        (
            {
                "conversations": [{"from": "human", "value": "Hi?"}],
                "chosen": {"from": "gpt", "value": "Hello."},
                "rejected": {"from": "gpt", "value": "No."},
            },
            "dpo",
            {"prompt": "conversations", "chosen": "chosen", "rejected": "rejected"},
        ),
        (
            {
                "messages": [
                    {"role": "user", "content": "Hi?"},
                    {"role": "assistant", "content": "Hello."},
                ],
                "kto_tag": True,
            },
            "kto",
            {"prompt": None, "completion": "messages", "label": "kto_tag"},
        ),
    ],
)
def test_conversations_beside_answers_that_are_judged(
    make_spec: Any, tmp_path: Path, *, row: Any, objective: str, roles: dict[str, str | None]
) -> None:
    """They are the prompt, as in LLaMA-Factory's preferences, or end with the answer itself."""
    (tmp_path / "rows.jsonl").write_text(f"{json.dumps(row)}\n" * 3, encoding="utf-8")
    facts = known(make_spec(data="rows.jsonl", objective=objective), tmp_path)
    assert {role: getattr(facts, role) for role in roles} == roles
    assert facts.malformed_rows == 0
