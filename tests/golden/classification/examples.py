"""What a row of the data says, and the record of tokens that training reads; prepare.py calls it.

A row is read as the turns of a conversation, cleaned, and turned into tokens by the model's
tokenizer, which prepare.py loads. Nothing here knows of any other row.
"""

import json
import re
import unicodedata
from hashlib import blake2b
from itertools import compress

import guard

# -----------------------------------------------------------------------------
# What was decided, and why

PROMPT_COLUMN = "message"
COMPLETION_COLUMN = "intent"
LABELS = [
    "cancel_order", "change_address", "damaged_item", "discount_code", "double_charge",
    "invoice_request", "late_delivery", "password_reset", "payment_failed", "refund_request",
    "stock_question", "wrong_item",
]  # the head's order: a label's place is its number
MAX_LENGTH = 64  # the longest row has about 61 tokens, estimated from characters
GROUP = 16  # rows that share what a call of the tokenizer costs

tokenizer = None  # prepare.py loads it
NEEDED = [PROMPT_COLUMN, COMPLETION_COLUMN]

# -----------------------------------------------------------------------------
# Read


def unpack(chunk):
    """Return the rows of a chunk."""
    return chunk


# -----------------------------------------------------------------------------
# Clean


def clean(text):
    """Return the text as it is trained on."""
    return repair(text).strip()


def fold(text):
    """Return the form by which texts are compared: NFC, every run of white space one space."""
    return " ".join(unicodedata.normalize("NFC", text).split())


# UTF-8 that was read as cp1252 or latin-1: a lead byte and the continuation bytes it needs.
CP1252 = {bytes([byte]).decode("cp1252", "ignore"): byte for byte in range(0x80, 0xA0)}
UNDO = {ord(letter): byte for letter, byte in CP1252.items() if letter}
TAIL = "".join(map(chr, [*range(0x80, 0xC0), *UNDO]))
MISENCODED = re.compile(
    f"[\xc2-\xc5\xce-\xd1][{TAIL}]|[\xe2\xef][{TAIL}][{TAIL}]|\xf0[{TAIL}][{TAIL}][{TAIL}]|\ufffd"
)


def repair(text):
    """Read the text as UTF-8 again where that leaves fewer wrong sequences in it."""
    wrong = 0 if text.isascii() else len(MISENCODED.findall(text))
    if not wrong:
        return text
    try:
        repaired = text.translate(UNDO).encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text
    return repaired if len(MISENCODED.findall(repaired)) < wrong else text


def cell(row, column):
    """Return a cell as text: a missing one is empty, a number its digits."""
    value = row.get(column)
    return "" if value is None else str(value)


def read_turns(row):
    """Return a row as (role, text) pairs, the answer last."""
    return [("user", cell(row, PROMPT_COLUMN)), ("assistant", cell(row, COMPLETION_COLUMN))]


def examine(row):
    """Return the turns of a row, cleaned, and a word for what was wrong with it."""
    whole = isinstance(row, dict) and not any(isinstance(row.get(c), list | dict) for c in NEEDED)
    raw = read_turns(row) if whole else None
    if raw is None:
        return None, "malformed"
    turns = [(role, clean(text)) for role, text in raw]
    if not turns or not all(text for _, text in turns):
        return None, "blank"
    return turns, "repaired" if any(repair(text) != text for _, text in raw) else ""


def key_of(text):
    """Return a number that no other text has (64 bits: one in 40 million for a million texts)."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def look(chunk):
    """Return a chunk's columns and, for each row, what was wrong and its key (0: left out)."""
    columns, looks = set(), []
    for row in unpack(chunk):
        columns.update(row if isinstance(row, dict) else ())
        turns, what = examine(row)
        looks.append((what, turns and key_of("\x1f".join(fold(text) for _, text in turns)) or 0))
    return columns, looks


# -----------------------------------------------------------------------------
# Tokenise the texts, and number their labels

NUMBERS = {name: number for number, name in enumerate(LABELS)}


def number_of(name):
    """Return the number of a label."""
    if name not in NUMBERS:
        guard.stop(f"{name!r} is none of the {len(LABELS)} labels of the plan: compile again")
    return NUMBERS[name]


def tokenise(group):
    """Return the rows of a group: the tokens of each text, its label by number and by name."""
    texts = [turns[0][1] for turns in group]
    return [
        {"input_ids": ids, "label": number_of(name), "prompt": text, "answer": name}
        for ids, text, (_, (_, name)) in zip(
            tokenizer(texts)["input_ids"], texts, group, strict=True
        )
    ]


# Made once: json.dumps makes one for each row, and looks for circles that no record has.
as_json = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


def make(job):
    """Turn the wanted rows of a chunk into records."""
    chunk, wanted = job
    rows = [examine(row)[0] for row in compress(unpack(chunk), wanted)]
    groups = (rows[i : i + GROUP] for i in range(0, len(rows), GROUP))
    return [found for group in groups for found in map(record_of, group, tokenise(group))]


def record_of(turns, record):
    """Return what was wrong, tokens, if any is learned, the key of its prompt, label and line."""
    tokens, what = len(record["input_ids"]), ""
    if tokens > MAX_LENGTH:
        return "overlong", tokens, 0, 0, "", b""
    prompt = key_of(fold("\x1f".join(text for _, text in turns[:-1])))
    is_learned = True  # its label is
    line = as_json(record).encode() + b"\n"
    return what, tokens, is_learned, prompt, turns[-1][1], line
