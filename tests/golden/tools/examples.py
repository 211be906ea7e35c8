"""What a row of the data says, and the record of tokens that training reads; prepare.py calls it.

A row is read as the turns of a conversation, cleaned, and turned into tokens by the model's
tokenizer, which prepare.py loads. Nothing here knows of any other row.
"""

import json
import re
import unicodedata
from hashlib import blake2b
from itertools import compress, groupby

from jinja2 import TemplateError

import guard

# -----------------------------------------------------------------------------
# What was decided, and why

MESSAGES_COLUMN = "messages"
TOOLS_COLUMN = "tools"
MAX_LENGTH = 360  # the longest row has about 356 tokens, estimated from characters
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
CALLERS = ("function_call", "tool_call")  # a message that is nothing but a call
FOLLOWS = {
    "start": ("system", "user"),
    "system": ("user",),
    "user": ("assistant", "calls"),
    "assistant": ("user", "tool", "calls"),
    "calls": ("tool",),
    "tool": ("assistant", "tool", "calls"),
}


def read_json(text):
    """Return what a text of JSON says, and what is no text as it is; None where it is broken."""
    try:
        return json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return None


def read_call(call):
    """Return a call as templates take it, whose arguments may be a text; None where it is none."""
    function = call.get("function", call) if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        return None
    arguments = read_json(function.get("arguments", {}))
    if not isinstance(arguments, dict):
        return None
    number = {"id": call["id"]} if isinstance(call.get("id"), str) else {}
    called = {"name": function["name"], "arguments": arguments}
    return {**number, "type": "function", "function": called}


def read_calls(message, content):
    """Return what an assistant says, where it does, and then its calls as JSON; None: no calls."""
    alone = message.get("role", message.get("from")) in CALLERS
    calls = read_json(content) if alone else message.get("tool_calls")
    said = "" if alone else content or ""
    calls = [calls] if isinstance(calls, dict) else calls
    if not isinstance(calls, list) or not calls or not isinstance(said, str):
        return None
    calls = [read_call(call) for call in calls]
    if None in calls:
        return None
    before = [("assistant", said)] if said.strip() else []
    return [*before, ("calls", json.dumps(calls, ensure_ascii=False))]


def in_order(messages):
    """Return messages with the results of tools in the order of their calls, by their ids."""
    ordered, ids = [], []
    for role, group in groupby(messages, lambda m: ROLES.get(str(m.get("role", m.get("from"))))):
        found = list(group)
        if role == "tool" and all(message.get("tool_call_id") in ids for message in found):
            found.sort(key=lambda message: ids.index(message.get("tool_call_id")))
        calls = found[-1].get("tool_calls")
        calls = calls if isinstance(calls, list) else []
        ids = [call.get("id") for call in calls if isinstance(call, dict)]
        ordered += found
    return ordered


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
    for message in in_order(messages):
        name = str(message.get("role", message.get("from")))
        text = message.get("content", message.get("value"))
        parts = [(ROLES.get(name), text)]
        if name in CALLERS or (ROLES.get(name) == "assistant" and message.get("tool_calls")):
            parts = read_calls(message, text) or [(None, None)]
        for role, said in parts:
            if role not in FOLLOWS[before] or not isinstance(said, str):
                return None
            turns.append((role, said))
            before = role
    tools = row.get(TOOLS_COLUMN) or None
    if isinstance(tools, str):
        tools = read_json(tools) if tools.strip() else []
        if tools is None:
            return None
    if tools and (not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools)):
        return None
    if tools and turns:
        turns.insert(0, ("tools", json.dumps(tools, ensure_ascii=False)))
    return turns if before in ("assistant", "calls", "start") else None


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


def render(chats, tools):
    """Return the tokens of each conversation; white space behind its last turn is not learned."""
    texts = [
        tokenizer.apply_chat_template(chat, given, tokenize=False)
        for chat, given in zip(chats, tools, strict=True)
    ]
    return encode([text.rstrip() for text in texts])


def render_prompts(chats, tools):
    """Return the tokens of each conversation up to where the model answers."""
    texts = [
        tokenizer.apply_chat_template(chat, given, tokenize=False, add_generation_prompt=True)
        for chat, given in zip(chats, tools, strict=True)
    ]
    return encode(texts)


def messages_of(turns):
    """Return the messages and the tools of a conversation, as its chat template takes them."""
    messages, tools, waiting = [], None, []
    for role, text in turns:
        if role == "tools":
            tools = json.loads(text)
        elif role == "calls":
            if not messages or messages[-1]["role"] != "assistant":
                messages.append({"role": "assistant", "content": ""})
            messages[-1]["tool_calls"] = json.loads(text)
            waiting = list(messages[-1]["tool_calls"])
        elif role == "tool" and waiting:
            call = waiting.pop(0)
            named = {"name": call["function"]["name"]}
            named |= {"tool_call_id": call["id"]} if "id" in call else {}
            messages.append({"role": role, "content": text, **named})
        else:
            messages.append({"role": role, "content": text})
    return messages, tools


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


def mask(chats, tools, read, prompts):
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
        given = [tools[chat] for chat, _ in some]
        befores = render_prompts([chats[chat][:turn] for chat, turn in some], given)
        uptos = render([chats[chat][: turn + 1] for chat, turn in some], given)
        for (chat, _), before, upto in zip(some, befores, uptos, strict=True):
            learn(labels[chat], read[chat], before, upto)
    return labels


def row_of(turns, messages, tools, ids, labels, prompt_ids):
    """Return a row: its tokens, its labels and what evaluation needs."""
    return {
        "input_ids": ids,
        "labels": labels,
        "prompt_ids": prompt_ids,
        "messages": messages,
        "tools": tools,
        "answer": tokenizer.decode(ids[shared(ids, prompt_ids) :], skip_special_tokens=True),
    }


def tokenise(group):
    """Return the rows of a group, asking template and tokenizer for all of them at once."""
    chats, tools = zip(*map(messages_of, group), strict=True)
    prompts = render_prompts([messages[:-1] for messages in chats], tools)
    read = render(chats, tools)
    labels = mask(chats, tools, read, prompts)
    return list(map(row_of, group, chats, tools, read, labels, prompts))


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
