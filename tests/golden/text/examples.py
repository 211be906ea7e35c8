"""What a row of the data says, and the record of tokens that training reads; prepare.py calls it.

A row is read as the turns of a conversation, cleaned, and turned into tokens by the model's
tokenizer, which prepare.py loads. Nothing here knows of any other row.
"""

import json
import re
import unicodedata
from hashlib import blake2b
from itertools import compress

# -----------------------------------------------------------------------------
# What was decided, and why

TEXT_COLUMN = "text"
MAX_LENGTH = 896  # longer texts are split into pieces of so many tokens; the longest has 874
NOT_LEARNED = -100  # the label that the loss leaves out
GROUP = 16  # rows that share what a call of the tokenizer costs

tokenizer = None  # prepare.py loads it
NEEDED = [TEXT_COLUMN]

# -----------------------------------------------------------------------------
# Read


def parse(line):
    """Return what a line of JSON says."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def unpack(chunk):
    """Return the rows of a chunk."""
    return map(parse, chunk)


# -----------------------------------------------------------------------------
# Clean


def clean(text):
    """Return the text as it is trained on."""
    return repair(text).strip()


def is_whole(text):
    """Whether an encoding has the text; JSON can hold half of a surrogate pair."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


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
    """Return the text of a row as its only turn."""
    return [("text", cell(row, TEXT_COLUMN))]


def examine(row):
    """Return the turns of a row, cleaned, and a word for what was wrong with it."""
    whole = isinstance(row, dict) and not any(isinstance(row.get(c), list | dict) for c in NEEDED)
    raw = read_turns(row) if whole else None
    if raw is None or not all(is_whole(text) for _, text in raw):
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
# Tokenise: the whole row at once, and what is learned found by rendering its beginnings

def tokenise(group):
    """Return the rows of a group of texts: their tokens, all of them learned, and the text."""
    texts = [turns[0][1] for turns in group]
    found = tokenizer(texts)["input_ids"]
    for ids in found:
        if ids[-1] != tokenizer.eos_token_id:
            ids.append(tokenizer.eos_token_id)
    return [
        {"input_ids": ids, "labels": ids, "prompt": text}
        for ids, text in zip(found, texts, strict=True)
    ]


# Made once: json.dumps makes one for each row, and looks for circles that no record has.
as_json = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


def pieces_of(record):
    """Yield a text in pieces of MAX_LENGTH tokens; its words are kept with the first."""
    ids, text = record["input_ids"], record["prompt"]
    for i in range(0, len(ids), MAX_LENGTH):
        piece = ids[i : i + MAX_LENGTH]
        yield {"input_ids": piece, "labels": piece, "prompt": "" if i else text}


def line_of(record):
    """Return a record as a line of JSON."""
    return as_json(record).encode() + b"\n"


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
        what = "split"
    prompt = key_of(fold(turns[0][1]))
    is_learned = any(label != NOT_LEARNED for label in record["labels"])
    line = b"".join(map(line_of, pieces_of(record)))
    return what, tokens, is_learned, prompt, "", line
