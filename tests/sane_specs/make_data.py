"""Writes the data of the sane specs: `python tests/sane_specs/make_data.py`, the same each time.

Sentences are drawn from lists, so that rows are short, plain and different from each other, and no
text of anybody is needed.
"""

import csv
import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyarrow import parquet

FOLDER: Final = Path(__file__).resolve().parent / "data"
WHO: Final = (
    "my sister", "the courier", "our accountant", "a neighbour", "the night nurse",
    "an old friend", "the mechanic", "the whole class", "a tourist", "the landlord",
    "the librarian", "a young farmer", "the second driver", "their lawyer", "our trainer",
)  # fmt: skip
DID: Final = (
    "lost", "found", "repaired", "ordered", "returned", "described", "sold", "painted", "measured",
    "borrowed", "inspected", "forgot", "delivered", "photographed", "explained", "weighed",
)  # fmt: skip
WHAT: Final = (
    "a blue bicycle", "the kitchen scales", "three invoices", "an umbrella", "the winter timetable",
    "a leaking pipe", "the spare key", "a wooden boat", "the garden fence", "seven postcards",
    "an old radio", "the projector", "a box of screws", "the wedding cake", "a pair of skis",
    "the harbour map", "an empty aquarium", "the lift contract", "a sewing machine",
)  # fmt: skip
WHERE: Final = (
    "near the station", "in the cellar", "behind the bakery", "at the airport",
    "under the bridge", "in Girona", "by the river", "at the market", "inside the tent", "in Oslo",
    "opposite the school", "on the ferry", "at a conference", "outside the bank",
)  # fmt: skip
WHEN: Final = (
    "last Monday", "before breakfast", "during the storm", "in early spring", "after the meeting",
    "an hour ago", "at midnight", "on a public holiday", "while it snowed", "two weeks later",
    "as the shop closed", "on the way home", "in the middle of June", "before the exam",
)  # fmt: skip
INTENTS: Final = {
    "refund": "I want my money back",
    "late_delivery": "the parcel has not come",
    "wrong_item": "this is not what I bought",
    "password_reset": "I cannot log in any more",
    "cancel_order": "please stop the order",
    "invoice": "I need the bill for it",
    "change_address": "send it somewhere else",
    "other": "I only wanted to ask",
}
CATALAN: Final = (
    ("el forner", "la meva tieta", "un pescador", "la mestra nova", "el metge"),
    ("ha perdut", "va trobar", "vol arreglar", "ha pintat", "no recorda", "ens va ensenyar"),
    ("una bicicleta vella", "les claus del garatge", "el mapa del port", "un rellotge de paret",
     "tres factures de l'aigua", "la recepta de l'àvia"),
    ("a la plaça del mercat", "darrere l'escola", "al vaixell de Maó", "prop de l'estació",
     "dins d'una capsa", "al peu de la muntanya"),
    ("abans de sopar", "durant la tempesta", "fa quinze dies", "el dia de la fira"),
)  # fmt: skip


def sentence(pick: random.Random) -> str:
    """Return one plain sentence of some fifteen words."""
    parts = [pick.choice(each) for each in (WHEN, WHO, DID, WHAT, WHERE)]
    return f"{parts[0].capitalize()}, {' '.join(parts[1:])}."


def story(pick: random.Random, sentences: int) -> str:
    """Return several sentences, one after the other."""
    return " ".join(sentence(pick) for _ in range(sentences))


def catalan(pick: random.Random) -> str:
    """Return one Catalan sentence."""
    return " ".join(pick.choice(each) for each in CATALAN).capitalize() + "."


def conversation(pick: random.Random, turns: int, *, system: bool) -> list[dict[str, str]]:
    """Return a conversation of some questions, each with an answer."""
    said = [{"role": "system", "content": "You keep the log of a village."}] if system else []
    for _ in range(turns):
        said.append({"role": "user", "content": f"What happened? {sentence(pick)}"})
        said.append({"role": "assistant", "content": f"Noted. {story(pick, 2)}"})
    return said


def write_csv(
    name: str, header: list[str], rows: Iterable[list[str]], delimiter: str = ","
) -> None:
    """Write a table with a header."""
    with (FOLDER / name).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows([header, *rows])


def write_jsonl(name: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write one object to a line."""
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (FOLDER / name).write_text("".join(lines), encoding="utf-8")


def main() -> None:
    """Write every file."""
    pick = random.Random(20)  # noqa: S311 - a fixed sample
    FOLDER.mkdir(exist_ok=True)
    intents = [(intent, said) for intent, said in INTENTS.items() for _ in range(40)]
    tickets = [[f"{sentence(pick)} {sentence(pick)} {said}.", intent] for intent, said in intents]
    pick.shuffle(tickets)
    write_csv("tickets.csv", ["message", "intent"], tickets)
    moods = ["bad", "fair", "good"] * 100
    reviews = [[f"{story(pick, 2)} It was {mood}, I think.", mood] for mood in moods]
    write_csv("reviews.tsv", ["review", "sentiment"], reviews, "\t")
    chats = [conversation(pick, 1 + n % 4, system=n % 3 == 0) for n in range(240)]
    write_jsonl("chats.jsonl", ({"messages": chat} for chat in chats))
    names = {"user": "human", "assistant": "gpt", "system": "system"}
    shared = [
        {"conversations": [{"from": names[t["role"]], "value": t["content"]} for t in chat]}
        for chat in (conversation(pick, 1 + n % 2, system=False) for n in range(220))
    ]
    (FOLDER / "sharegpt.json").write_text(json.dumps(shared, indent=0) + "\n", encoding="utf-8")
    tasks = [
        {
            "instruction": f"Say in one sentence who did what. {sentence(pick)}",
            "input": story(pick, 2) if n % 2 else "",
            "output": sentence(pick),
        }
        for n in range(260)
    ]
    write_jsonl("tasks.jsonl", tasks)
    pairs = [[f"{sentence(pick)} What came of it?", story(pick, 3)] for _ in range(240)]
    write_csv("pairs.csv", ["question", "answer"], pairs)
    columns = {"question": [pair[0] for pair in pairs], "answer": [pair[1] for pair in pairs]}
    parquet.write_table(pa.table(columns), FOLDER / "pairs.parquet")
    write_jsonl("stories.jsonl", ({"text": story(pick, 12)} for _ in range(220)))
    write_jsonl(
        "reports.jsonl",
        ({"prompt": story(pick, 24), "completion": story(pick, 5)} for _ in range(210)),
    )
    words = [[f"{catalan(pick)} {catalan(pick)} Què més?", catalan(pick)] for _ in range(230)]
    write_csv("catalan.csv", ["prompt", "completion"], words)


if __name__ == "__main__":
    main()
