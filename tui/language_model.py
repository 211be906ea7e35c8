"""The second reader of messages: a local language model in a GGUF file.

Its output is decoded under a grammar made from the spec's schema, so that it is a valid change to
a spec. The change is proposed and never applied without a yes. The model writes no file and runs
no command: it only returns text.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Event, Lock
from typing import Any, Final

from ftc.compiler.render.pins import llama_cpp_command
from ftc.spec.document import Document
from ftc.spec.finding import EnvironmentFailure
from ftc.spec.schema import branches, fields
from ftc.spec.validate import validate
from ftc.tui.draft import Draft, completed
from ftc.tui.understanding.reading import Change, Reading

_MOST_CHANGES: Final = 6
_LONGEST_TEXT: Final = 80
_LONGEST_LIST: Final = 4
_CONTEXT_TOKENS: Final = 8192
_MOST_TOKENS: Final = 600
_LEAST_TOKENS: Final = 64
_PATIENCE_SECONDS: Final = 60.0
_KEPT: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_PROMPT: Final = """\
You fill in a form about fine-tuning a language model. Return only what the message says.
Fields: {fields}
So far: {draft}
Message: {text}
JSON: """


@dataclass(slots=True, kw_only=True)
class ModelReader:
    """Reads messages with a model; `stop` or the time limit ends a reading early.

    `name` marks its proposals. `excuse` is the catalogue key of the reason why the last reading
    failed, empty if it did not.
    """

    llm: Any
    name: str
    patience_seconds: float = _PATIENCE_SECONDS
    stop: Event = field(default_factory=Event)
    excuse: str = ""
    turn: Lock = field(default_factory=Lock)  # a model reads one message at a time

    @property
    def sure(self) -> bool:
        """False: a model's reading is always confirmed by the user."""
        return False

    def read(self, text: str, draft: Mapping[str, Any]) -> Reading:
        """Return the valid changes that the model proposes; none after the time limit."""
        self.excuse = ""
        if not self.turn.acquire(timeout=self.patience_seconds):
            self.excuse = "model.busy"
            return Reading(rest=text)
        try:
            self.stop.clear()
            said = self._complete(_prompt(text, draft))
        finally:
            self.turn.release()
        try:
            decoded = json.loads(said)
        except ValueError:
            self.excuse = self.excuse or "model.late"
            return Reading(rest=text)
        changes = [
            Change(pointer=entry["field"], value=entry["value"], words=text)
            for entry in decoded["changes"]
        ]
        return Reading(changes=_valid(changes, draft), rest=text)

    def _complete(self, prompt: str) -> str:
        """Return the model's output under the grammar; cut off after the time limit.

        Returns nothing if the prompt leaves no room for an answer in the model's context.
        """
        from llama_cpp import StoppingCriteriaList  # noqa: PLC0415 - an extra
        from llama_cpp.llama_grammar import LlamaGrammar  # noqa: PLC0415

        tokens = self.llm.tokenize(prompt.encode())
        room = self.llm.n_ctx() - len(tokens)
        if room < _LEAST_TOKENS:
            self.excuse = "model.full"
            return ""
        until = time.monotonic() + self.patience_seconds

        def is_over(tokens: Any, scores: Any) -> bool:
            del tokens, scores
            return self.stop.is_set() or time.monotonic() > until

        said = self.llm.create_completion(
            tokens,
            max_tokens=min(_MOST_TOKENS, room),
            temperature=0.0,
            grammar=LlamaGrammar.from_json_schema(json.dumps(answer_schema()), verbose=False),
            stopping_criteria=StoppingCriteriaList([is_over]),
        )
        return str(said["choices"][0]["text"])


def load_model(path: Path) -> ModelReader:
    """Open a GGUF file; raises EnvironmentFailure if it is missing, broken or unreadable."""
    if not path.is_file():
        raise EnvironmentFailure(
            message=f"there is no file `{path}`", help="name a GGUF file, or leave --llm out"
        )
    try:
        from llama_cpp import Llama  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise EnvironmentFailure(
            message="a language model needs llama-cpp-python, which is not installed",
            help=f"run `{llama_cpp_command()}`, or leave --llm out",
        ) from error
    try:
        _silence()
        limit = Llama(str(path), vocab_only=True, verbose=False).metadata
        own = next((int(v) for k, v in limit.items() if k.endswith(".context_length")), 0)
        context = min(_CONTEXT_TOKENS, own or _CONTEXT_TOKENS)
        llm = Llama(str(path), n_ctx=context, verbose=False)
    except (ValueError, OSError, AssertionError) as error:
        raise EnvironmentFailure(
            message=f"`{path}` is no GGUF file that llama.cpp can open",
            help="download it again, or leave --llm out",
        ) from error
    return ModelReader(llm=llm, name=path.name)


@cache
def _silence() -> Any:
    """Silence llama.cpp's log; the caller must keep the returned object alive."""
    import llama_cpp  # noqa: PLC0415 - an extra

    quiet = llama_cpp.llama_log_callback(lambda level, text, about: None)  # noqa: ARG005
    llama_cpp.llama_log_set(quiet, None)
    return quiet


@cache
def answer_schema() -> Mapping[str, Any]:
    """Return the schema of the model's output: a few fields, each with a bounded value."""
    choices = [
        {
            "type": "object",
            "properties": {"field": {"const": each.pointer}, "value": value},
            "required": ["field", "value"],
            "additionalProperties": False,
        }
        for each in fields()
        if (value := _bounded(each.schema)) is not None
    ]
    return {
        "type": "object",
        "properties": {
            "changes": {"type": "array", "maxItems": _MOST_CHANGES, "items": {"anyOf": choices}}
        },
        "required": ["changes"],
        "additionalProperties": False,
    }


def _bounded(schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return a field's schema with text and lists of bounded length; None for a section."""
    leaves = [leaf for leaf in map(_leaf, branches(schema)) if leaf is not None]
    if any(branch.get("type") == "object" for branch in branches(schema)) or not leaves:
        return None
    return leaves[0] if len(leaves) == 1 else {"anyOf": leaves}


def _leaf(schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if "const" in schema:
        return {"const": schema["const"]}
    if "enum" in schema:
        return {"enum": list(schema["enum"])}
    kinds = schema.get("type")
    named = [each for each in kinds if each != "null"] if isinstance(kinds, list) else [kinds]
    kind = named[0] if len(named) == 1 else None
    if kind == "array":
        items = _leaf(schema["items"])
        return (
            None if items is None else {"type": "array", "items": items, "maxItems": _LONGEST_LIST}
        )
    if kind == "string":
        return {"type": "string", "maxLength": _LONGEST_TEXT}
    if kind in ("integer", "number", "boolean"):
        return {"type": kind} | {key: schema[key] for key in _KEPT if key in schema}
    return None


def _prompt(text: str, draft: Mapping[str, Any]) -> str:
    names = ", ".join(
        f"{each.pointer} ({each.schema['title']})"
        for each in fields()
        if _bounded(each.schema) is not None
    )
    return _PROMPT.format(fields=names, draft=json.dumps(draft), text=text)


def _valid(changes: list[Change], draft: Mapping[str, Any]) -> tuple[Change, ...]:
    """Return the changes that, applied in order, keep the spec valid."""
    kept: list[Change] = []
    now = Draft(data=draft)
    for change in changes:
        then = now.changed((change,))
        document = Document(name="", folder=Path(), text="", data=completed(then), positions={})
        if not isinstance(validate(document), tuple):
            now = then
            kept.append(change)
    return tuple(kept)
