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

MESSAGES_COLUMN = "messages"
MAX_LENGTH = 176  # the longest row has about 171 tokens, estimated from characters
NOT_LEARNED = -100  # the label that the loss leaves out
GROUP = 16  # rows that share what a call of the tokenizer costs

tokenizer = None  # prepare.py loads it
NEEDED = [MESSAGES_COLUMN]

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


def read_turns(row):
    """Return a conversation as (role, text) pairs, None where it is not one, the answer last."""
    messages = row.get(MESSAGES_COLUMN) or []
    if isinstance(messages, str):
        try:
            messages = json.loads(messages) if messages.strip() else []
        except (ValueError, RecursionError):
            return None
    if not isinstance(messages, list) or not all(isinstance(turn, dict) for turn in messages):
        return None
    turns, before = [], "start"
    for message in messages:
        name = str(message.get("role", message.get("from")))
        text = message.get("content", message.get("value"))
        role = ROLES.get(name)
        if role not in FOLLOWS[before] or not isinstance(text, str):
            return None
        turns.append((role, text))
        before = role
    return turns if before in ("assistant", "start") else None


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


def learn(labels, ids, before, upto):
    """Have an answer learned with its end, given what is before it and all up to its end.

    Where the template writes an earlier answer otherwise once turns follow it, as without its
    reasoning, these are not the tokens that the model would write: such an answer is only read.
    """
    begin, end = shared(ids, before), shared(ids, upto)
    # One token at each edge may differ: it takes in the first letters of what follows.
    if begin >= len(before) - 1 and end >= len(upto) - 1:
        labels[begin:end] = ids[begin:end]


def mask(chats, read, prompts):
    """Return the labels of each conversation: every answer is learned with its end."""
    labels = [[NOT_LEARNED] * len(ids) for ids in read]
    for messages, ids, before, learned in zip(chats, read, prompts, labels, strict=True):
        learn(learned, ids, before, ids)
        if learned[-1] == NOT_LEARNED:
            guard.stop(f"the chat template rewrites earlier turns, as in {messages}")
    earlier = [
        (chat, turn)
        for chat, messages in enumerate(chats)
        for turn, message in enumerate(messages[:-1])
        if message["role"] == "assistant"
    ]
    for start in range(0, len(earlier), GROUP):
        some = earlier[start : start + GROUP]
        befores = render_prompts([chats[chat][:turn] for chat, turn in some])
        uptos = render([chats[chat][: turn + 1] for chat, turn in some])
        for (chat, _), before, upto in zip(some, befores, uptos, strict=True):
            learn(labels[chat], read[chat], before, upto)
    return labels


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
    labels = mask(chats, read, prompts)
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
    return what, tokens, is_learned, prompt, "", line
