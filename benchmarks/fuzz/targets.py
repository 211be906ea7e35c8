"""The targets: each reads untrusted bytes, which it may reject but which must not break it.

A target may only raise the exceptions that the callers of its reader expect.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from io import StringIO
from pathlib import Path
from typing import Any

from ftc.compiler.pipeline import check
from ftc.compiler.resolve.chat_template.rendering import ChatTemplateError, compile_chat_template
from ftc.compiler.resolve.data.facts import resolve_data
from ftc.compiler.resolve.facts import TokenizerFacts, Unknown
from ftc.compiler.resolve.model.facts import resolve_model
from ftc.compiler.resolve.tokenizer.facts import resolve_tokenizer
from ftc.compiler.write.lock import LockFailure, parse_lock
from ftc.spec.load import load_document
from ftc.spec.sections import Spec
from ftc.spec.text.document import Document
from ftc.spec.validate import validate
from ftc.spec.values.admission import admits
from ftc.tui.front_ends.plain import read_messages
from ftc.tui.languages.voice import Voice
from ftc.tui.session.exchange import describe
from ftc.tui.session.session import Session
from ftc.tui.state.situation import Observer
from ftc.tui.understanding.reader import read

CONVERSATION = (
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is the capital of Peru?"},
    {"role": "assistant", "content": "Lima.", "reasoning_content": "I know that."},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"type": "function", "function": {"name": "look", "arguments": {"a": 1}}}],
    },
    {"role": "tool", "content": "{}", "name": "look"},
)
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}

#: Requests that write or read files of any name.
FILES = frozenset({"compile", "later", "load", "save"})
#: Requests that may take values away.
REMOVING = frozenset({"restart", "undo", "redo"})
MOST_MESSAGES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """`run` gets the bytes, a folder with a complete model, and the name of its own file."""

    run: Callable[[bytes, Path, str], None]
    file: str


def read_spec(content: bytes, folder: Path, name: str) -> None:
    """Load and validate a spec, as the start of every command does."""
    (folder / name).write_bytes(content)
    document = load_document(str(folder / name))
    if isinstance(document, Document):
        validate(document)


def check_spec(content: bytes, folder: Path, name: str) -> None:
    """Do what `ftc check` does: read the facts, make the plan and run the rules."""
    (folder / name).write_bytes(content)
    check(str(folder / name))


def read_template(content: bytes, folder: Path, name: str) -> None:
    """Compile a chat template and render a conversation with it."""
    del folder, name
    with suppress(ChatTemplateError):
        template = compile_chat_template(content.decode("utf-8", "replace"), TOKENS)
        template.render_marked(CONVERSATION, add_generation_prompt=True, tools=[{"name": "look"}])


def read_data(content: bytes, folder: Path, name: str) -> None:
    """Read the facts of a data file, and the tokens of its rows."""
    (folder / name).write_bytes(content)
    resolve_data(_spec(folder, name), folder=folder, tokenizer=_tokenizer(folder))


def read_model(content: bytes, folder: Path, name: str) -> None:
    """Read the facts of a model's folder, with these bytes as one of its files."""
    path = folder / name
    before = path.read_bytes() if path.is_file() else None
    path.write_bytes(content)
    try:
        spec = _spec(folder, "rows.csv")
        model = resolve_model(spec, folder=folder)
        resolve_tokenizer(spec, folder=folder, model=model)
    finally:
        path.unlink()
        if before is not None:
            path.write_bytes(before)


def read_lock(content: bytes, folder: Path, name: str) -> None:
    """Read the lock of a bundle."""
    del folder, name
    with suppress(LockFailure, UnicodeDecodeError):
        parse_lock(content.decode())


def converse(content: bytes, folder: Path, name: str) -> None:
    """Send lines to the assistant: each is answered, asks at most once, and keeps the draft valid.

    Messages that write or load files are left out.
    """
    del name
    session = Session(observer=Observer(folder=folder), voice=Voice(language="en"))
    session.start()
    lines = StringIO(content.decode("utf-8", "replace"))
    for _, text in zip(range(MOST_MESSAGES), read_messages(lines), strict=False):
        request = read(text, session.draft.data).request
        if request is not None and request.kind in FILES:
            continue
        before = session.draft
        record = describe(session, text, before, session.reply(text))
        json.dumps(record)
        assert len(record["asked"]) <= 1, "two questions"
        for change in record["applied"]:
            assert admits(change["pointer"], change["new"]), f"{change['pointer']} is not valid"
        lost = before.data.keys() - session.draft.data.keys()
        named = {change["pointer"].split("/")[1] for change in record["applied"]}
        assert lost <= named or record["intent"] in REMOVING, "the draft was lost"


@lru_cache(maxsize=1)
def _tokenizer(folder: Path) -> TokenizerFacts | Unknown:
    """Return the facts of the folder's own tokenizer."""
    spec = _spec(folder, "rows.csv")
    model = resolve_model(spec, folder=folder)
    return resolve_tokenizer(spec, folder=folder, model=model)


def _spec(folder: Path, data: str) -> Spec:
    path = folder / "plain.json"
    path.write_text(
        json.dumps({"name": "x", "model": "./model", "data": data, "hardware": "cpu"}),
        encoding="utf-8",
    )
    document = load_document(str(path))
    assert isinstance(document, Document)
    spec = validate(document)
    assert isinstance(spec, Spec)
    return spec


TARGETS: Mapping[str, Target] = {
    "spec-json": Target(run=read_spec, file="spec.json"),
    "spec-yaml": Target(run=read_spec, file="spec.yaml"),
    "check": Target(run=check_spec, file="checked.json"),
    "chat-template": Target(run=read_template, file="chat_template.jinja"),
    "data-csv": Target(run=read_data, file="rows.csv"),
    "data-jsonl": Target(run=read_data, file="rows.jsonl"),
    "data-json": Target(run=read_data, file="rows.json"),
    "data-parquet": Target(run=read_data, file="rows.parquet"),
    "model-config": Target(run=read_model, file="model/config.json"),
    "model-weights": Target(run=read_model, file="model/model.safetensors"),
    "model-index": Target(run=read_model, file="model/model.safetensors.index.json"),
    "tokenizer": Target(run=read_model, file="model/tokenizer.json"),
    "tokenizer-config": Target(run=read_model, file="model/tokenizer_config.json"),
    "tokenizer-pieces": Target(run=read_model, file="model/tokenizer.model"),
    "lock": Target(run=read_lock, file="ftc.lock.json"),
    "conversation": Target(run=converse, file="conversation.txt"),
}


def run_target(name: str, content: bytes, folder: Path) -> None:
    """Run a target on bytes."""
    target = TARGETS[name]
    target.run(content, folder, target.file)


def describe_failure(error: BaseException) -> str:
    """Return the type of a failure and the deepest line of ftc's code in its traceback."""
    where, trace = "", error.__traceback__
    while trace is not None:
        path = Path(trace.tb_frame.f_code.co_filename)
        if {"compiler", "spec", "tui"} & set(path.parts):
            where = f"{path.parent.name}/{path.name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(error).__name__} in {where}"


def plain(value: Any) -> bytes:
    """Return JSON as bytes."""
    return json.dumps(value).encode()
