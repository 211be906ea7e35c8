"""What a row of the data says, and the record of tokens that training reads; prepare.py calls it.

A row is read as the turns of a conversation, cleaned, and turned into tokens by the model's
tokenizer, which prepare.py loads. Nothing here knows of any other row.
"""

import json
import re
import unicodedata
from hashlib import blake2b
from itertools import compress

from jinja2 import TemplateError

import guard

# -----------------------------------------------------------------------------
# What was decided, and why

PROMPT_COLUMN = "message"
COMPLETION_COLUMN = "intent"
MAX_LENGTH = 120  # the longest row has 116 tokens, so none is cut
NOT_LEARNED = -100  # the label that the loss leaves out
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
# Tokenise: the whole row at once, and what is learned found by rendering its beginnings

def encode(texts):
    """Return the tokens of each text as it is, by the library alone where it has all to itself.

    What transformers does around each call takes as long as the library itself.
    """
    if not tokenizer.is_fast:
        return tokenizer(texts, add_special_tokens=False)["input_ids"]
    found = tokenizer.backend_tokenizer.encode_batch_fast(texts, add_special_tokens=False)
    return [encoding.ids for encoding in found]


def render(chats):
    """Return the tokens of each conversation; white space behind its last turn is not learned."""
    texts = tokenizer.apply_chat_template(chats, tokenize=False)
    return encode([text.rstrip() for text in texts])


def render_prompts(chats):
    """Return the tokens of each conversation up to where the model answers."""
    return encode(
        tokenizer.apply_chat_template(chats, tokenize=False, add_generation_prompt=True)
    )


def shared(first, second):
    """Return how many tokens two lists have in common at their start."""
    if first[: len(second)] == second:
        return len(second)
    pairs = enumerate(zip(first, second, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(first), len(second)))


def mask(ids, before, messages):
    """Return the labels of a conversation: the last answer is learned with its end."""
    begin = shared(ids, before)
    if begin < len(before) - 1:
        guard.stop(f"the chat template rewrites earlier turns, as in {messages}")
    return [NOT_LEARNED] * begin + ids[begin:]


def row_of(turns, messages, ids, labels, prompt_ids):
    """Return a row: its tokens, its labels and what evaluation needs."""
    return {
        "input_ids": ids,
        "labels": labels,
        "prompt_ids": prompt_ids,
        "messages": messages,
        "answer": turns[-1][1],
    }


def tokenise(group):
    """Return the rows of a group, asking template and tokenizer for all of them at once."""
    chats = [[{"role": role, "content": text} for role, text in turns] for turns in group]
    prompts = render_prompts([messages[:-1] for messages in chats])
    read = render(chats)
    labels = map(mask, read, prompts, chats)
    return list(map(row_of, group, chats, read, labels, prompts))


# Made once: json.dumps makes one for each row, and looks for circles that no record has.
as_json = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


def make(job):
    """Turn the wanted rows of a chunk into records."""
    chunk, wanted = job
    rows = [examine(row)[0] for row in compress(unpack(chunk), wanted)]
    groups = (rows[i : i + GROUP] for i in range(0, len(rows), GROUP))
    return [found for group in groups for found in map(record_of, group, rows_of(group))]


def rows_of(group):
    """Return the rows of a group, None for those that the chat template refuses."""
    try:
        return tokenise(group)
    except TemplateError:
        half = len(group) // 2
        return rows_of(group[:half]) + rows_of(group[half:]) if half else [None]


def record_of(turns, record):
    """Return what was wrong, tokens, if any is learned, the key of its prompt, label and line."""
    if record is None:
        return "malformed", 0, 0, 0, "", b""
    tokens, what = len(record["input_ids"]), ""
    if tokens > MAX_LENGTH:
        return "overlong", tokens, 0, 0, "", b""
    prompt = key_of(fold("\x1f".join(text for _, text in turns[:-1])))
    is_learned = any(label != NOT_LEARNED for label in record["labels"])
    line = as_json(record).encode() + b"\n"
    return what, tokens, is_learned, prompt, turns[-1][1], line
