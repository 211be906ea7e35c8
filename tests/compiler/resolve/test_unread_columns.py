"""Columns that training ignores although the answers depend on them."""

import random
from collections.abc import Callable, Mapping, Sequence

import pytest

from ftc.compiler.resolve.columns.unread_columns import UnreadColumns
from ftc.compiler.resolve.rows.roles import Roles, assign_roles
from ftc.spec.sections import Columns

ROWS = 60
#: Words of which no two rows share many.
WORDS = [f"{a}{b}" for a in ("bar", "lim", "tor", "sen", "kal", "mir") for b in "aeiou" * 3]

Row = Mapping[str, object]


def look(make: Callable[[int, random.Random], Row]) -> UnreadColumns:
    """Return what was seen in rows that `make` gives by number."""
    draw = random.Random(7)  # noqa: S311 - test data
    rows = [make(number, draw) for number in range(ROWS)]
    columns = tuple(rows[0])
    roles = assign_roles(columns, named=Columns(), form="auto", forms=("chat", "prompt_completion"))
    assert isinstance(roles, Roles)
    seen = UnreadColumns(
        columns=[name for name in columns if name not in roles.columns()], roles=roles
    )
    assert list(seen.watch(iter(rows))) == rows
    return seen


def say(draw: random.Random, words: int) -> str:
    """Return a text of drawn words and a number."""
    drawn = (draw.choice(WORDS) + str(draw.randrange(40)) for _ in range(words))
    return " ".join(drawn)


def with_passage(number: int, draw: random.Random) -> Row:
    """Return a question about a passage, with an answer from it, as in SQuAD."""
    passage = say(draw, 50)
    answer = " ".join(passage.split()[10:14])
    return {
        "title": "t",
        "blatt": passage,
        "question": f"what is said in {number}?",
        "answer": answer,
    }


def with_tables(number: int, draw: random.Random) -> Row:
    """Return a question in words with a query, and the tables it reads."""
    table, column = say(draw, 1), say(draw, 1)
    return {
        "question": f"how many rows are there with more than {number}?",
        "ddl": f"CREATE TABLE {table} ({column} INTEGER)",
        "answer": f"SELECT COUNT(*) FROM {table} WHERE {column} > {number}",  # noqa: S608 - never run
    }


@pytest.mark.parametrize(("make", "column"), [(with_passage, "blatt"), (with_tables, "ddl")])
def test_a_column_with_the_words_of_the_answers_is_needed(
    make: Callable[[int, random.Random], Row], column: str
) -> None:
    """Its name tells nothing; a column of metadata beside it is left out rightly."""
    seen = look(make)
    assert seen.find_needed() == {column: ROWS}
    assert seen.find_bad() == {}


def test_passages_that_several_questions_share_are_needed() -> None:
    """The last different passage is compared, not that of the row before."""
    passages = [say(random.Random(n), 50) for n in range(ROWS // 5)]  # noqa: S311 - test data

    def make(number: int, _draw: random.Random) -> Row:
        passage = passages[number // 5]
        words = passage.split()[number % 5 * 8 :][:4]
        return {"blatt": passage, "question": f"what is {number}?", "answer": " ".join(words)}

    assert look(make).find_needed() == {"blatt": ROWS}


def test_a_name_tells_too() -> None:
    """A context is needed for answers in other words; a column that is mostly empty is not."""

    def make(number: int, draw: random.Random) -> Row:
        texts = {"question": say(draw, 8), "answer": say(draw, 8)}
        return {**texts, "context": say(draw, 30), "evidence": "" if number % 3 else say(draw, 9)}

    assert look(make).find_needed() == {"context": ROWS}


def test_a_system_prompt_beside_messages_is_needed() -> None:
    """Conversations have no column of answers, so that only the name tells."""

    def make(_number: int, draw: random.Random) -> Row:
        turns = [("user", say(draw, 8)), ("assistant", say(draw, 8))]
        messages = [{"role": role, "content": text} for role, text in turns]
        return {"messages": messages, "system": "Answer briefly.", "origin": say(draw, 3)}

    assert look(make).find_systems() == {"system": "Answer briefly."}
    assert look(make).find_needed() == {}


@pytest.mark.parametrize("number", [str, lambda n: str(1000 + 5 * n)])
def test_the_number_of_a_row_is_not_needed(number: Callable[[int], str]) -> None:
    """Answers may even repeat the number, as made-up answers do."""

    def make(n: int, draw: random.Random) -> Row:
        return {"id": number(n), "question": say(draw, 8), "answer": f"{number(n)} is it"}

    assert look(make).find_needed() == {}


def test_a_number_that_answers_are_about_is_needed() -> None:
    """The numbers of orders are random, unlike those of rows."""

    def make(_number: int, draw: random.Random) -> Row:
        order = str(draw.randrange(10**6))
        return {"order": order, "question": say(draw, 8), "answer": f"Order {order} is late."}

    assert look(make).find_needed() == {"order": ROWS}


def test_earlier_turns_are_needed() -> None:
    """Alpaca's `history` is a list of pairs, which is empty in the first rows of conversations."""

    def make(number: int, draw: random.Random) -> Row:
        turns = [[say(draw, 4), say(draw, 4)]] if number % 3 == 0 else []
        return {"question": say(draw, 8), "answer": say(draw, 8), "history": turns}

    assert look(make).find_needed() == {"history": ROWS // 3}


def test_a_context_that_all_rows_share_tells_nothing() -> None:
    """The answers differ, and this text does not."""

    def make(_number: int, draw: random.Random) -> Row:
        return {"question": say(draw, 8), "answer": say(draw, 8), "context": "none given"}

    assert look(make).find_needed() == {}


def test_copies_explanations_and_metadata_are_not_needed() -> None:
    """A copy has the prompt too, an explanation comes after the question, metadata fits any row."""

    def make(number: int, draw: random.Random) -> Row:
        asked, answer = say(draw, 9), say(draw, 5)
        return {
            "prompt": asked,
            "completion": answer,
            "text": f"### Question: {asked} ### Answer: {answer}",
            "explanation": f"It is {answer}, because {say(draw, 9)}",
            "id": str(number),
            "source": "a forum of people who answer each other's questions",
            "notes": say(draw, 12),
        }

    assert look(make).find_needed() == {}


@pytest.mark.parametrize(
    ("verdicts", "bad"),
    [((True, False), ROWS // 2), (("good", "bad"), ROWS // 2), ((1, 1), 0), ((4, 5), 0)],
)
def test_answers_that_are_judged_bad_are_counted(verdicts: tuple[object, object], bad: int) -> None:
    """Only verdicts of both kinds; stars are none."""

    def make(number: int, draw: random.Random) -> Row:
        texts = {"prompt": say(draw, 9), "completion": say(draw, 5)}
        return {**texts, "rating": verdicts[number % 2]}

    assert look(make).find_bad() == ({"rating": bad} if bad else {})


@pytest.mark.parametrize(
    ("columns", "rivals"),
    [
        (("question", "answer", "response"), {"answer": "response"}),
        (("question", "query", "answer"), {"query": "question"}),
        (("text", "label", "category"), {"category": "label"}),
        (("question", "answer", "source_url", "notes"), {}),
        (("instruction", "input", "output", "text"), {}),
    ],
)
def test_a_column_with_a_usual_name_is_a_rival(
    columns: tuple[str, ...], rivals: Mapping[str, str]
) -> None:
    """Only names tell which of two columns is read."""
    seen = look(lambda _, draw: {name: say(draw, 4) for name in columns})
    assert seen.find_rivals() == rivals


def test_a_copy_an_empty_column_and_a_named_role_have_no_rival() -> None:
    """Nothing is lost, or the spec has said which is meant."""
    copied = look(lambda *_: dict.fromkeys(("question", "answer", "response"), "a b"))
    empty = look(
        lambda number, _: {"question": "q", "answer": "" if number else "a", "response": "r"}
    )
    assert copied.find_rivals() == empty.find_rivals() == {}
    named = look(lambda *_: {"question": "q", "answer": "a", "response": "r"})
    assert named.find_rivals() == {"answer": "response"}
    named.named = Columns(completion="response")
    assert named.find_rivals() == {}


@pytest.mark.parametrize(
    ("column", "words", "found"),
    [
        ("split", ("train", "train", "test"), 20),
        ("data_split", ("Training", "val", "test"), 40),
        ("subset", ("train", "dev", "train"), 20),
        # of another kind, of one split, and of another name
        ("split", ("easy", "hard", "train"), None),
        ("split", ("train", "train", "train"), None),
        ("source", ("train", "train", "test"), None),
    ],
)
def test_a_column_of_splits(column: str, words: tuple[str, ...], found: int | None) -> None:
    """Its rows that are not for training are counted."""
    seen = look(lambda n, draw: {"question": say(draw, 9), "answer": "x", column: words[n % 3]})
    assert seen.find_splits() == ({} if found is None else {column: found})


def test_a_system_prompt_in_parts_is_needed() -> None:
    """Bedrock keeps it in a column of its own, as parts."""
    seen = look(
        lambda n, draw: {
            "messages": [
                {"role": "user", "content": str(n)},
                {"role": "assistant", "content": "b"},
            ],
            "system": [{"text": say(draw, 5)}],
        }
    )
    assert seen.find_systems() == {"system": ""}


def _of_texts(make: Callable[[int, random.Random], Row]) -> tuple[str, ...]:
    draw = random.Random(7)  # noqa: S311 - test data
    rows = [make(number, draw) for number in range(ROWS)]
    roles = assign_roles(tuple(rows[0]), named=Columns(), form="auto", forms=("text",))
    assert isinstance(roles, Roles)
    seen = UnreadColumns(columns=[name for name in rows[0] if name != "text"], roles=roles)
    assert list(seen.watch(iter(rows))) == rows
    return seen.find_speakers()


@pytest.mark.parametrize("key", ["name", "displayName", "id"])
def test_writers_may_be_objects(key: str) -> None:
    """Discord and Teams export them so. An object with a text but no name is no author."""
    assert _of_texts(lambda n, _: {"author": {key: f"u{n % 3}", "bot": False}, "text": "hi"}) == (
        "author",
    )
    assert _of_texts(lambda n, _: {"meta": {key: f"u{n % 3}"}, "text": "hi"}) == ()


@pytest.mark.parametrize(
    ("name", "writers", "words", "found"),
    [
        ("kind", ("prompter", "assistant"), 90, ("kind",)),
        ("user", ("U1", "U2", "U3"), 8, ("user",)),
        ("author", ("Austen", "Verne"), 90, ()),
        ("lang", ("en", "ca"), 8, ()),
        ("user", ("U1",), 8, ()),
    ],
)
def test_who_wrote_a_text(
    name: str, writers: Sequence[str], words: int, found: tuple[str, ...]
) -> None:
    """Roles of a conversation, or a few writers of short messages; books have authors as well."""

    def make(number: int, draw: random.Random) -> Row:
        return {"text": say(draw, words), name: writers[number % len(writers)]}

    assert _of_texts(make) == found


def test_an_explanation_beside_an_answer_is_found() -> None:
    """Unless the answer has it in itself, or all rows have the same."""

    def make(_: int, draw: random.Random) -> Row:
        answer = say(draw, 5)
        return {
            "question": say(draw, 9),
            "answer": answer,
            "Rationale": f"It is so because {say(draw, 9)}",
            "reasoning": answer,
            "cot": "none",
        }

    assert look(make).find_beside_answers()["explaining_columns"] == ("Rationale",)


@pytest.mark.parametrize(
    ("options", "answer", "found"),
    [
        ({"choices": ["red", "green", "blue"]}, "{0}", ("choices",)),
        ({"choices": {"text": ["red", "green"], "label": ["A", "B"]}}, "{A}", ("choices",)),
        ({"endings": ["red", "green", "blue"]}, "{text}", ("endings",)),
        ({"A": "red", "B": "green", "C": "blue"}, "{A}", ("A", "B", "C")),
        ({"opa": "red", "opb": "green", "opc": "blue"}, "({a})", ("opa", "opb", "opc")),
        ({"choices": ["in", "the"]}, "{0}", ()),
        ({"tags": ["red", "green"]}, "it is number {0} of them", ()),
        ({"A": "red", "B": "green"}, "a text of its own", ()),
    ],
)
def test_options_that_answers_are_chosen_from_are_found(
    options: Mapping[str, object], answer: str, found: tuple[str, ...]
) -> None:
    """Answers name them by number, letter or text; prompts that have them need no column."""

    def make(number: int, _: random.Random) -> Row:
        place = number % 2
        said = {
            "0": str(place),
            "A": "AB"[place],
            "a": "ab"[place],
            "text": ["red", "green"][place],
        }
        text = answer
        for name, value in said.items():
            text = text.replace("{" + name + "}", value)
        return {"question": f"which is in the picture {number}?", "answer": text, **options}

    assert look(make).find_beside_answers()["option_columns"] == found


def test_the_names_of_numbered_answers_are_found() -> None:
    """Each number has one name of its own, and each name one number."""

    def make(number: int, draw: random.Random) -> Row:
        return {
            "text": say(draw, 9),
            "label": number % 3,
            "group": "ab"[number % 2],
            "number": number % 3 + 1,
            "label_text": ["red", "green", "blue"][number % 3],
        }

    assert look(make).find_beside_answers()["label_names"] == "label_text"
