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

CHOSEN_COLUMN = "chosen"
REJECTED_COLUMN = "rejected"
MAX_LENGTH = 192  # the longest row has about 187 tokens, estimated from characters
NOT_LEARNED = -100  # the label that the loss leaves out
GROUP = 16  # rows that share what a call of the tokenizer costs

tokenizer = None  # prepare.py loads it
NEEDED = [CHOSEN_COLUMN, REJECTED_COLUMN]

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


ROLES = {
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "gpt", "chatgpt", "bot", "model"), "assistant"),
    **dict.fromkeys(("tool", "function", "observation"), "tool"),
}
FOLLOWS = {
    "start": ("system", "user"),
    "system": ("user",),
    "user": ("assistant",),
    "assistant": ("user", "tool"),
    "tool": ("assistant", "tool"),
}
TRANSCRIPT = re.compile(r"(?:^|\n\n)(Human|Assistant):")


def read_cell(cell, role):
    """Return the turns of a cell: a text is one of `role`, a list or a transcript is several."""
    if isinstance(cell, str) and cell.lstrip().startswith("[{"):
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError):
            return [(role, cell)]
    if isinstance(cell, list):
        if not all(isinstance(turn, dict) for turn in cell):
            return None
        known = [ROLES.get(str(turn.get("role", turn.get("from")))) for turn in cell]
        texts = [turn.get("content", turn.get("value")) for turn in cell]
        whole = all(known) and all(isinstance(text, str) for text in texts)
        return list(zip(known, texts, strict=True)) if whole else None
    if isinstance(cell, dict):
        return None
    text = "" if cell is None else str(cell)
    _, *parts = TRANSCRIPT.split(text.strip())
    if len(parts) > 2 and text.lstrip().startswith("Human:"):
        speakers = [ROLES[speaker.lower()] for speaker in parts[::2]]
        return list(zip(speakers, map(str.strip, parts[1::2]), strict=True))
    return [(role, text)] if text.strip() else []


def read_turns(row):
    """Return the prompt's turns, then both answers; None where they are not two to one prompt."""
    conversations = []
    for column in (CHOSEN_COLUMN, REJECTED_COLUMN):
        turns = read_cell(row.get(column), "assistant")
        if turns and turns[0][0] == "assistant":
            return None
        if not turns:
            return turns
        roles = ["start", *(role for role, _ in turns)]
        steps = zip(roles, roles[1:], strict=False)
        if roles[-1] != "assistant" or any(after not in FOLLOWS[role] for role, after in steps):
            return None
        conversations.append(turns)
    (*asked, (_, chosen)), (*also_asked, (_, rejected)) = conversations
    if [(role, fold(text)) for role, text in asked] != [(r, fold(t)) for r, t in also_asked]:
        return None
    if chosen.strip() and fold(chosen) == fold(rejected):
        return None
    return [*asked, ("chosen", chosen), ("rejected", rejected)]


def examine(row):
    """Return the turns of a row, cleaned, and a word for what was wrong with it."""
    raw = read_turns(row) if isinstance(row, dict) else None
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


def row_of(turns, messages, prompt_ids, ids, other_ids):
    """Return a row: its prompt, both answers to it, and what evaluation needs."""
    begin = min(shared(prompt_ids, ids), shared(prompt_ids, other_ids))
    if begin < len(prompt_ids) - 1:
        guard.stop(f"the chat template rewrites the prompt, as in {messages}")
    return {
        "input_ids": ids,
        "labels": [NOT_LEARNED] * begin + ids[begin:],
        "prompt_ids": ids[:begin],
        "chosen_ids": ids,
        "rejected_ids": other_ids,
        "messages": messages,
        "answer": turns[-2][1],
    }


def tokenise(group):
    """Return the rows of a group, asking template and tokenizer for all of them at once."""
    chats = [[{"role": role, "content": text} for role, text in turns[:-2]] for turns in group]
    better, worse = (
        [
            [*messages, {"role": "assistant", "content": turns[place][1]}]
            for messages, turns in zip(chats, group, strict=True)
        ]
        for place in (-2, -1)
    )
    return list(map(row_of, group, better, render_prompts(chats), render(better), render(worse)))


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
    tokens, what = max(len(record["chosen_ids"]), len(record["rejected_ids"])), ""
    if tokens > MAX_LENGTH:
        return "overlong", tokens, 0, 0, "", b""
    prompt = key_of(fold("\x1f".join(text for _, text in turns[:-2])))
    is_learned = any(label != NOT_LEARNED for label in record["labels"])
    line = as_json(record).encode() + b"\n"
    return what, tokens, is_learned, prompt, "", line
