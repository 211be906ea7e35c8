"""Write tickets.csv: support messages in English, Spanish and Catalan, with the blemishes of real files.

    python make_tickets.py

The phrases are data, in phrases.json: `[a|b]` is a choice, `{slot}` a value, and a 0 in a slot a digit.
"""

import csv
import json
import random
import re
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
SEED = 20
ROWS = 3_000  # distinct messages; duplicates and blank rows come on top
DUPLICATES = 90  # the same message sent twice, as from an impatient customer
BLANKS = 30  # a form sent empty
LANGUAGES = {"en": 0.4, "es": 0.35, "ca": 0.25}
FRESH = {"amount", "date"}  # slots that may differ within one message; the others stay the same
MONTHS = {
    "en": "January February March April May June September October November December".split(),
    "es": "de enero|de febrero|de marzo|de abril|de mayo|de junio|de julio|de octubre".split("|"),
    "ca": "de gener|de febrer|de març|d'abril|de maig|de juny|de juliol|d'octubre".split("|"),
}
CONTRACTIONS = {  # a product carries its article: "de" + "el teclado" is "del teclado"
    "en": [],
    "es": [(r"\bde el ", "del "), (r"\ba el ", "al ")],
    "ca": [(r"\bde el ", "del "), (r"\ba el ", "al "), (r"\bper el ", "pel ")],
}
WITHOUT_ACCENTS = str.maketrans("áàéèíïóòúüñçÁÀÉÈÍÓÒÚÑÇ", "aaeeiioouuncAAEEIOOUNC")

Phrases = dict[str, list[str]]


# -- phrases ---------------------------------------------------------------------------------------


def make_date(rng: random.Random, language: str) -> str:
    """A day in one of the ways in which people write it in this language."""
    day, month = rng.randint(1, 28), rng.randint(1, 12)
    name = rng.choice(MONTHS[language])
    return rng.choice([f"{day}/{month}", f"{day}/{month:02d}/2026", f"{day}-{month:02d}", f"{day} {name}"])


def make_amount(rng: random.Random, language: str) -> str:
    """A price between 5 and 250, with this language's decimal mark."""
    euros, cents = rng.randint(5, 250), rng.choice(["00", "50", "90", "95", "99"])
    english, other = [f"€{euros}.{cents}", f"£{euros}.{cents}", f"{euros} EUR"], [f"{euros},{cents} €", f"{euros}€", f"{euros} euros"]
    return rng.choice(english if language == "en" else other)


def expand(rng: random.Random, pattern: str, slot: Callable[[str], str]) -> str:
    """The pattern with every choice made and every slot filled."""
    chosen = re.sub(r"\[([^\[\]]*)\]", lambda match: rng.choice(match[1].split("|")), pattern)
    return re.sub(r"\{(\w+)\}", lambda match: slot(match[1]), chosen)


def make_slot(rng: random.Random, language: str, shared: Phrases) -> Callable[[str], str]:
    """A function from the name of a slot to its value, which stays the same through one message."""
    kept: dict[str, str] = {}

    def value(name: str) -> str:
        if name == "date":
            return make_date(rng, language)
        if name == "amount":
            return make_amount(rng, language)
        choices = [c for c in shared["product" if name == "other" else name] if c != kept.get("product")]
        chosen = rng.choice(choices)
        return re.sub("0", lambda _: str(rng.randint(0, 9)), chosen) if name in shared["numbered"] else chosen

    def remember(name: str) -> str:
        if name in FRESH:
            return value(name)
        if name not in kept:
            kept[name] = value(name)
        return kept[name]

    return remember


def compose(rng: random.Random, language: str, shared: Phrases, intent: Phrases) -> str:
    """One message: what is asked, and around it what people add: a greeting, a story, a farewell."""
    middle = [rng.choice(intent["ask"])]
    if rng.random() < 0.45:
        middle.append(rng.choice(intent["more"]))
    if rng.random() < 0.5:
        middle.insert(rng.choice([0, 0, len(middle)]), rng.choice(shared["context"]))
    first = [rng.choice(shared["greeting"])] if rng.random() < 0.45 else []
    last = [rng.choice(shared["closing"])] if rng.random() < 0.4 else []
    slot = make_slot(rng, language, shared)
    parts = [expand(rng, pattern, slot) for pattern in [*first, *middle, *last]]
    parts = [part[:1].upper() + part[1:] for part in parts]
    text = ("\n" if rng.random() < 0.08 else " ").join(parts)
    for pattern, short in CONTRACTIONS[language]:
        text = re.sub(pattern, short, text)
    return re.sub(r" +", " ", text).replace(" .", ".").replace(" ?", "?").strip()


# -- blemishes -------------------------------------------------------------------------------------


def mistype(rng: random.Random, text: str) -> str:
    """One to three slips of the finger: a letter dropped, doubled or swapped with the next."""
    letters = list(text)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(1, max(2, len(letters) - 2))
        if letters[at].isalpha() and letters[at + 1 : at + 2]:
            slips = [[letters[at + 1]], [letters[at]] * 2 + [letters[at + 1]], [letters[at + 1], letters[at]]]
            letters[at : at + 2] = rng.choice(slips)
    return "".join(letters)


def write_badly(rng: random.Random, text: str) -> str:
    """The message as typed in a hurry, on a phone, or in anger."""
    if rng.random() < 0.2:
        text = mistype(rng, text)
    if rng.random() < 0.12:
        text = text.translate(WITHOUT_ACCENTS)
    if rng.random() < 0.15:
        text = text.lower()
    if rng.random() < 0.02:
        text = text.upper()
    if rng.random() < 0.15:
        text = text.rstrip(".?!")
    if rng.random() < 0.04:
        text += rng.choice(["!!!", "??", " :(", "...", " 😡", " 🙏"])
    return text


def damage(rng: random.Random, text: str) -> str:
    """The message as a careless export leaves it: stray whitespace, or UTF-8 read as Latin-1."""
    if rng.random() < 0.05:
        text = rng.choice(["  ", "\t", "\n", " "]) + text + rng.choice(["  ", " ", "\n", "\r\n", ""])
    if rng.random() < 0.03:
        text = text.replace(" ", rng.choice(["  ", "\u00a0"]), 2)
    if not text.isascii() and rng.random() < 0.02:
        return text.encode().decode("latin-1") if rng.random() < 0.8 else text.encode("ascii", "replace").decode()
    return text


# -- the file --------------------------------------------------------------------------------------


def make_rows(rng: random.Random) -> list[tuple[str, str]]:
    """All rows of the file, in the order in which they are written."""
    phrases = json.loads((HERE / "phrases.json").read_text(encoding="utf-8"))
    common = phrases["shared"].pop("any")
    shared = {lang: {**common, **own, "numbered": list(common)} for lang, own in phrases["shared"].items()}
    labels = list(phrases["intents"])
    weights = [rng.uniform(0.7, 1.3) for _ in labels]  # some things go wrong more often than others
    rows: dict[str, str] = {}
    while len(rows) < ROWS:
        (language,) = rng.choices(list(LANGUAGES), list(LANGUAGES.values()))
        (label,) = rng.choices(labels, weights)
        text = compose(rng, language, shared[language], phrases["intents"][label][language])
        rows.setdefault(damage(rng, write_badly(rng, text)), label)
    written = list(rows.items())
    written += rng.sample(written, DUPLICATES)
    written += [(rng.choice(["", "", "   ", "\n"]), rng.choice([*labels, ""])) for _ in range(BLANKS)]
    rng.shuffle(written)
    return written


def main() -> None:
    """Write the file beside this script."""
    rows = make_rows(random.Random(SEED))
    with (HERE / "tickets.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["message", "intent"])
        writer.writerows(rows)
    print(f"tickets.csv: {len(rows):,} rows, {len({label for _, label in rows if label})} intents")


if __name__ == "__main__":
    main()
