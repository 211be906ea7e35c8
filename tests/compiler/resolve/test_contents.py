"""Contents of rows: kinds of secrets and personal data, and the sum over sources."""

import json
import time
from pathlib import Path

import pytest

from ftc.compiler.resolve.content.leaks import find_leak
from ftc.compiler.resolve.content.markers import KnownMarkers, find_markers
from ftc.compiler.resolve.content.markup import count_foreign
from ftc.compiler.resolve.content.private import find_personal, find_secrets
from ftc.compiler.resolve.content.turns.tool_use import find_tool_use
from ftc.compiler.resolve.facts import Label
from ftc.compiler.resolve.rows.example import Example
from tests.compiler.resolve.conftest import MakeSpec
from tests.compiler.resolve.resolving import known


def rows(*texts: str) -> list[Example]:
    """Return examples that say these texts."""
    return [Example(turns=(("user", text), ("assistant", "fine"))) for text in texts]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("my card is 4539 1488 0343 6467, thanks", "card"),
        ("pay to ES79 2100 0813 6101 2345 6789 please", "iban"),
        ("call +34 612 345 678 after six", "phone"),
        ("call (212) 867-5309 after six", "phone"),
        ("write to joan.puig@correu.cat", "email"),
    ],
)
def test_personal_data_has_a_kind(text: str, kind: str) -> None:
    """Cards by Luhn's digit, accounts by ISO 7064."""
    assert find_personal(rows(text)) == ({kind: (0,)}, 1)


@pytest.mark.parametrize(
    "text",
    [
        "the test card is 4242 4242 4242 4242",
        "order 4539148803436460 has shipped",
        "account ES79 2100 0813 6101 2345 6780",
        "order number 20240511-334455",
        "in 2019-2020 it was 1234567 of 89101112",
        "write to anna@example.com or noreply@shop.io",
        "call 1-800-555-0199 or +1 212 555 0123",
        "version 10.14.3.2 at 192.168.0.1, 3.14159265358979",
    ],
)
def test_what_is_no_personal_data(text: str) -> None:
    """Numbers of orders, of manuals and of versions."""
    assert find_personal(rows(text)) == ({}, 1)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"-----BEGIN RSA PRIVATE KEY-----\n{'MIIEpAIBAAKCAQEA7bq2Zt9' * 3}", "private_key"),
        ("ghp_Zk3Lr8Qw0Tn5Vb7Xc1Mf9Hd2Js6Gp4YaEuRi", "access_token"),
        ("mysql://root:T9vK2mQ8@10.0.0.4/shop", "password"),
    ],
)
def test_secrets_have_a_kind(text: str, kind: str) -> None:
    """Of the forms that services give them."""
    assert find_secrets(rows(text, "none here")) == {kind: (0,)}


def test_placeholders_are_no_secrets() -> None:
    """As documentation writes them."""
    texts = (
        "sk-xxxxxxxxxxxxxxxxxxxxxxxx",
        "mysql://user:password@localhost/db",
        "AKIAIOSFODNN7EXAMPLE",
    )

    assert find_secrets(rows(*texts)) == {}


@pytest.mark.parametrize(
    "text", ["\n", ".", "1", "1 ", "+1 ", "a@", "<a", "-----BEGIN ", "sk-ab-", "a://b:", "AB12 "]
)
def test_hostile_texts_take_no_longer(text: str) -> None:
    """The work on a row has a bound, whatever it repeats."""
    examples = rows(*[text * (300_000 // len(text)) + "x"] * 24)
    labels = [Label(name="fine", rows=12), Label(name=".", rows=12)]
    began = time.process_time()
    find_leak(examples, labels, sampled=True)
    find_leak(examples, (), sampled=True)
    find_markers(examples, KnownMarkers())
    find_personal(examples)
    find_secrets(examples)

    assert time.process_time() - began < 4


def test_sources_are_added_up(make_spec: MakeSpec, tmp_path: Path) -> None:
    """Each source counts its own rows, and the mixture has the sum."""
    for name, word in (("a", "nan"), ("b", "N/A")):
        lines = [
            {"prompt": f"{name} {n}?", "response": word if n < 9 else f"{n}"} for n in range(60)
        ]
        text = "\n".join(map(json.dumps, lines))
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    found = known(make_spec(data={"sources": ["a.jsonl", "b.jsonl"]}), tmp_path).contents

    assert found.looked_rows == 120
    assert found.missing_answers == {"N/A": 9, "nan": 9}


@pytest.mark.parametrize(
    ("text", "speakers"),
    [
        ("### Human: hi\n### Assistant: hello", ("### Human:", "### Assistant:")),
        ("Q: hi\nA: hello", ("Q:", "A:")),
        ("A dialogue.\n**User**: hi\n**Bot**: hello", ("**User**:", "**Bot**:")),
        ("Usuario: hola\nAsistente: buenas", ("Usuario:", "Asistente:")),
        ("Title: hi\nBody: hello", ()),
        ("Answer: hello\nQuestion: hi", ()),
        ("the user: hi, the bot: hello", ()),
    ],
)
def test_a_text_with_a_whole_exchange(text: str, speakers: tuple[str, ...]) -> None:
    """Lines begin with who asks, and later with who answers."""
    found = find_markers([Example(turns=(("text", text),))], KnownMarkers())
    assert (found.spoken_rows, found.speakers) == (int(bool(speakers)), speakers)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("<p>the order is late</p>", {"markup": 1}),
        ("late<br/>again", {"markup": 1}),
        ("salt &amp; pepper", {"markup": 1}),
        ('<a href="x.html" class="y">here</a>', {"markup": 1}),
        ("a < b and c > d, R&D", {}),
        ("write HTML: <p>x</p>", {}),
        ("use `<p>` here", {}),
        ("```\n<div>x</div>\n```", {}),
        ("the generic List<T> and <think>", {}),
        ("data:image/png;base64," + "iVBORw0KGgo" * 60, {"base64": 1}),
        ("aB3/" * 200, {"base64": 1}),
        ("a" * 2000, {}),
        ("ACGT" * 400, {}),
    ],
)
def test_what_was_written_around_a_text(text: str, counts: dict[str, int]) -> None:
    """Tags and entities outside of code, and files; a text about markup may have some."""
    assert count_foreign(rows(text)) == counts


@pytest.mark.parametrize(
    ("answer", "listed"),
    [
        ("['spam']", 30),
        ("['spam', 'ham']", 30),
        ('["spam"]', 0),
        ("spam", 0),
        ("['spam'] is it", 0),
        ("[1, 2]", 0),
    ],
)
def test_answers_as_python_shows_lists(
    make_spec: MakeSpec, tmp_path: Path, answer: str, listed: int
) -> None:
    """JSON is an answer that somebody may want; what Python prints is not."""
    lines = [json.dumps({"prompt": f"what is {n}?", "completion": answer}) for n in range(30)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    found = known(make_spec(data="a.jsonl"), tmp_path).contents
    assert found.listed_answers == listed
    assert found.listed_example == (answer if listed else "")


@pytest.mark.parametrize(
    ("text", "described"),
    [("call `search` for facts", 1), ("researchers searched", 0), ("search: finds facts", 1)],
)
def test_a_tool_is_described_by_its_whole_name(text: str, described: int) -> None:
    """A name inside another word describes nothing."""
    tools = json.dumps([{"type": "function", "function": {"name": "search"}}])
    turns = (("tools", tools), ("system", text), ("user", "who?"), ("assistant", "Ada"))
    use = find_tool_use([Example(turns=turns)], unmatched_rows=0)
    assert use is not None
    assert (use.declaring_rows, use.described_rows) == (1, described)
