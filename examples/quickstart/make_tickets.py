"""Write tickets.csv: support messages in three languages, with the defects of real files.

    python make_tickets.py

The phrases are data, in phrases.json: `[a|b]` is a choice and `{slot}` a value; in the slots under
"any", which all languages share, a 0 stands for any digit. The same seed writes the same file.
"""

import csv
import json
import random
import re
from pathlib import Path

HERE = Path(__file__).parent
SEED = 20
ROWS = 3_000  # distinct messages; duplicates and blank rows come on top
DUPLICATES = 90  # the same message sent twice, as from an impatient customer
BLANKS = 30  # a form sent empty
LANGUAGES = {"en": 0.4, "es": 0.35, "ca": 0.25}  # and the share of each

# A Spanish or Catalan product carries its article: "de" and "el teclado" make "del teclado".
CONTRACTIONS = {r"\bde el ": "del ", r"\ba el ": "al ", r"\bper el ": "pel "}
WITHOUT_ACCENTS = str.maketrans("áàéèíïóòúüñçÁÀÉÈÍÓÒÚÑÇ", "aaeeiioouuncAAEEIOOUNC")

Phrases = dict[str, list[str]]


def happens(rng: random.Random, share: float) -> bool:
    """Return true in this share of all calls."""
    return rng.random() < share


# -- messages --------------------------------------------------------------------------------------


def write_date(rng: random.Random, phrases: Phrases) -> str:
    """Name a day in one of the ways in which people write it."""
    day, month = rng.randint(1, 28), rng.randint(1, 12)
    numeric = [f"{day}/{month}", f"{day}/{month:02d}/2026", f"{day}-{month:02d}"]
    return rng.choice([*numeric, f"{day} {rng.choice(phrases['month'])}"])


def write_price(rng: random.Random, phrases: Phrases) -> str:
    """Name a price with the currency and the decimal mark of the language."""
    cents = rng.choice(["00", "50", "90", "95", "99"])
    return rng.choice(phrases["price"]).format(euros=rng.randint(5, 250), cents=cents)


def choose_values(rng: random.Random, phrases: Phrases, common: Phrases) -> dict[str, str]:
    """Choose the value of each slot that stays the same through one message."""
    values = {slot: rng.choice(choices) for slot, choices in {**common, **phrases}.items()}
    for slot in common:
        values[slot] = re.sub("0", lambda _: str(rng.randint(0, 9)), values[slot])
    others = [product for product in phrases["product"] if product != values["product"]]
    return {**values, "other": rng.choice(others)}


def expand(rng: random.Random, pattern: str, phrases: Phrases, values: dict[str, str]) -> str:
    """Make every choice and fill every slot of the pattern; each date and price is a new one."""

    def fill(match: re.Match[str]) -> str:
        if match[1] == "date":
            return write_date(rng, phrases)
        return write_price(rng, phrases) if match[1] == "amount" else values[match[1]]

    text = re.sub(r"\[([^\[\]]*)\]", lambda match: rng.choice(match[1].split("|")), pattern)
    text = re.sub(r"\{(\w+)\}", fill, text)
    for separate, joined in CONTRACTIONS.items():
        text = re.sub(separate, joined, text)
    text = re.sub(r" +", " ", text).replace(" .", ".").replace(" ?", "?").strip()
    return text[:1].upper() + text[1:]


def compose(rng: random.Random, phrases: Phrases, common: Phrases, intent: Phrases) -> str:
    """Write one message: the request, with greetings and other phrases around it."""
    patterns = [rng.choice(intent["ask"])]
    if happens(rng, 0.45):
        patterns.append(rng.choice(intent["more"]))
    if happens(rng, 0.5):
        patterns.insert(rng.choice([0, 0, len(patterns)]), rng.choice(phrases["context"]))
    if happens(rng, 0.45):
        patterns.insert(0, rng.choice(phrases["greeting"]))
    if happens(rng, 0.4):
        patterns.append(rng.choice(phrases["closing"]))
    values = choose_values(rng, phrases, common)
    separator = "\n" if happens(rng, 0.08) else " "
    return separator.join(expand(rng, pattern, phrases, values) for pattern in patterns)


# -- defects ---------------------------------------------------------------------------------------


def mistype(rng: random.Random, text: str) -> str:
    """Make one to three typing errors: a letter omitted, doubled, or swapped with the next."""
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(1, max(2, len(text) - 2))
        here, after = text[at : at + 1], text[at + 1 : at + 2]
        if here.isalpha() and after:
            slip = rng.choice([after, here + here + after, after + here])
            text = text[:at] + slip + text[at + 2 :]
    return text


def hurry(rng: random.Random, text: str) -> str:
    """Change the message to one typed in a hurry, on a phone, or in anger."""
    if happens(rng, 0.2):
        text = mistype(rng, text)
    if happens(rng, 0.12):
        text = text.translate(WITHOUT_ACCENTS)
    if happens(rng, 0.15):
        text = text.lower()
    if happens(rng, 0.02):
        text = text.upper()
    if happens(rng, 0.15):
        text = text.rstrip(".?!")
    if happens(rng, 0.04):
        text += rng.choice(["!!!", "??", " :(", "...", " 😡", " 🙏"])
    return text


def damage(rng: random.Random, text: str) -> str:
    """Damage the message like a careless export: stray whitespace, UTF-8 read as Latin-1."""
    if happens(rng, 0.05):
        text = rng.choice(["  ", "\t", "\n"]) + text + rng.choice(["", "  ", "\n", "\r\n"])
    if happens(rng, 0.03):
        text = text.replace(" ", rng.choice(["  ", "\u00a0"]), 2)
    if not text.isascii() and happens(rng, 0.016):
        text = text.encode().decode("latin-1")
    elif happens(rng, 0.004):
        text = text.encode("ascii", "replace").decode()
    return text


# -- the file --------------------------------------------------------------------------------------


def make_rows(rng: random.Random) -> list[tuple[str, str]]:
    """Compose all rows of the file, in the order in which they are written."""
    source = json.loads((HERE / "phrases.json").read_text(encoding="utf-8"))
    shared, intents = source["shared"], source["intents"]
    labels = list(intents)
    shares = [rng.uniform(0.7, 1.3) for _ in labels]  # some things go wrong more often than others
    rows: dict[str, str] = {}
    while len(rows) < ROWS:
        (language,) = rng.choices(list(LANGUAGES), list(LANGUAGES.values()))
        (label,) = rng.choices(labels, shares)
        text = compose(rng, shared[language], shared["any"], intents[label][language])
        rows.setdefault(damage(rng, hurry(rng, text)), label)
    written = list(rows.items())
    written += rng.sample(written, DUPLICATES)
    blanks = [rng.choice(["", "", "   ", "\n"]) for _ in range(BLANKS)]
    written += [(blank, rng.choice([*labels, ""])) for blank in blanks]
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
