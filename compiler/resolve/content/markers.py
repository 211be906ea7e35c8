"""Finds chat template markers in rows, and new tokens that occur in no row."""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from ftc.compiler.knowledge.text.turn_markers import known_markers, written_markers
from ftc.compiler.knowledge.well_known.models import find_model
from ftc.compiler.resolve.chat_template.rendering import ChatTemplateError
from ftc.compiler.resolve.content_facts import Markers
from ftc.compiler.resolve.model.tokenizer_files import LoadedTokenizer
from ftc.compiler.resolve.rows.example import Example
from ftc.spec.sections import Spec

_SHOWN: Final = 5
_SHORT: Final = ({"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi."})
_CANDIDATE: Final = re.compile(r"<[^<>\s]{1,60}>|\[/?[A-Z_]{3,30}\]")
#: The names inside the turn markers of well-known families.
_TURN_NAMES: Final = frozenset(
    {
        "im_start", "im_end", "im_user", "im_assistant", "im_system", "im_middle", "im_sep",
        "user", "assistant", "system", "human", "bot", "model", "prompter", "chatbot",
        "start_header_id", "end_header_id", "header_start", "header_end", "eot_id", "eom_id", "eot",
        "start_of_role", "end_of_role", "start_of_turn", "end_of_turn", "end", "turn", "turn_end",
        "start_of_turn_token", "end_of_turn_token", "user_token", "chatbot_token", "system_token",
        "start", "message", "channel", "endofuser", "endofassistant", "endofsystem", "endofprompt",
        "role_start", "role_end", "begin_of_user", "begin_of_assistant",
    }
)  # fmt: skip
_TURN: Final = re.compile(r"<[|\uff5c]([^|\uff5c<>]+)[|\uff5c]>|<((?:start|end)_of_turn)>")
_BRACKETS: Final = frozenset({"[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"})
#: Tokens that begin or end texts in most families, which no row should begin or end with.
_EDGES: Final = (
    *("</s>", "<s>", "<|endoftext|>", "<|end_of_text|>", "<|begin_of_text|>", "<eos>", "<bos>"),
    *("<|return|>", "<\uff5cend\u2581of\u2581sentence\uff5c>"),
)
#: Tokens that rows contain on purpose: fill-in-the-middle and reasoning.
_ON_PURPOSE: Final = re.compile(
    r"fim|prefix|suffix|middle|repo|file|think|reason|mask|blank|gmask", re.IGNORECASE
)
#: Last lines of prompts that open an answer, as in transcripts and plain-text templates.
_OPENING: Final = re.compile(
    r"(?:^|\n)\s*((?:#{2,3} ?)?(?:Assistant|ASSISTANT|Response|Bot|AI|Resposta|Respuesta) ?:)\s*\Z"
)


#: The name at the beginning of a line, as in `### Human: ...`, `Q: ...` or `**User**: ...`.
_SPEAKER: Final = re.compile(
    r"^[ \t]*((?:#{1,4} ?|\*\*|\[|<)?([^\W\d_]{1,20})(?:\*\*|\]|>)?[ \t]?:(?:\*\*)?)(?=\s|\Z)",
    re.MULTILINE,
)
_ASK: Final = frozenset(
    {
        "human", "user", "question", "q", "prompt", "instruction", "input", "query", "customer",
        "client", "student", "person", "me", "usuario", "usuari", "usuaria", "humano", "humà",
        "pregunta", "p", "cliente", "instrucción", "instrucció",
    }
)  # fmt: skip
_ANSWER: Final = frozenset(
    {
        "assistant", "answer", "a", "response", "output", "bot", "ai", "gpt", "chatbot", "chatgpt",
        "model", "agent", "support", "reply", "asistente", "assistent", "respuesta", "resposta",
        "r", "agente", "modelo", "solución", "solució",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownMarkers:
    """The markers of one tokenizer: its special tokens, and those that its template writes.

    `tokens` are all tokens that the tokenizer does not split, or its markers in ftc's table; None
    if neither is known.
    """

    special: frozenset[str] = frozenset()
    turns: frozenset[str] = frozenset()
    tokens: frozenset[str] | None = None


def list_markers(loaded: LoadedTokenizer, new_tokens: Collection[str]) -> KnownMarkers:
    """Return the markers of a tokenizer and of the spec's new tokens.

    Tokens at the ends of texts are not turn markers, since rows can contain them without a
    template.
    """
    rendered = ""
    if loaded.template is not None:
        with suppress(ChatTemplateError):
            rendered = loaded.template.render(_SHORT, add_generation_prompt=True)
    added = loaded.tokenizer.get_added_tokens_decoder().values()
    special = {each.content for each in added if each.special}
    written = set(_CANDIDATE.findall(rendered)) - set(loaded.special.values())
    return KnownMarkers(
        special=frozenset(s for s in special if not _ON_PURPOSE.search(s)),
        turns=frozenset(m for m in written if not _ON_PURPOSE.search(m)),
        tokens=frozenset({*(each.content for each in added), *new_tokens}),
    )


def look_up_markers(name: str, new_tokens: Collection[str]) -> KnownMarkers:
    """Return the markers from ftc's table for a model whose tokenizer is not available."""
    entry = find_model(name)
    if entry is None:
        return KnownMarkers()
    return KnownMarkers(
        turns=written_markers(entry), tokens=known_markers(entry) | frozenset(new_tokens)
    )


def find_markers(examples: Sequence[Example], known: KnownMarkers) -> Markers:
    """Count the rows with turn markers or special tokens in their texts."""
    turned: Counter[str] = Counter()
    special: Counter[str] = Counter()
    opened: Counter[str] = Counter()
    spoken: Counter[tuple[str, ...]] = Counter()
    rows = Counter[str]()
    for example in examples:
        markers, specials = _find(example, known)
        turned.update(markers)
        special.update(specials)
        rows["turned"] += bool(markers)
        rows["special"] += bool(specials)
        if known.tokens is not None:
            rows["foreign"] += any(marker not in known.tokens | known.turns for marker in markers)
        if opening := _find_opening(example):
            opened[opening] += 1
        if speakers := _find_speakers(example):
            spoken[speakers] += 1
    return Markers(
        turn_rows=rows["turned"],
        turn_markers=_most(turned, known),
        special_rows=rows["special"],
        special_tokens=_most(special, known),
        foreign_rows=rows["foreign"],
        opened_rows=opened.total(),
        opening=opened.most_common(1)[0][0] if opened else "",
        spoken_rows=spoken.total(),
        speakers=spoken.most_common(1)[0][0] if spoken else (),
    )


def _find(example: Example, known: KnownMarkers) -> tuple[list[str], list[str]]:
    """Return the markers of turns and the special tokens of a row's texts, in their order."""
    markers, specials = dict[str, None](), dict[str, None]()
    for role, text in example.turns:
        if role in ("tools", "calls", "label") or (">" not in text and "]" not in text):
            continue
        if edge := _find_edge(text):
            specials[edge] = None
        for found in dict.fromkeys(_CANDIDATE.findall(text)):
            if found in known.special:
                specials[found] = None
            if found in known.turns or _is_turn(found):
                markers[found] = None
    return list(markers), list(specials)


def _find_edge(text: str) -> str:
    """Return the token that begins or ends a text, or ""."""
    if not text.startswith("<") and not text.endswith(">"):
        return ""
    return next((e for e in _EDGES if text.endswith(e) or text.startswith(e)), "")


def _is_turn(found: str) -> bool:
    match = _TURN.fullmatch(found)
    name = (match[1] or match[2]).casefold() if match else ""
    return name.replace("\u2581", "_") in _TURN_NAMES or found in _BRACKETS


def _find_opening(example: Example) -> str:
    """Return the words at the end of a prompt that open an answer, or ""."""
    prompt = example.prompt
    if not prompt or not prompt[-1][1].endswith(":"):
        return ""
    match = _OPENING.search(prompt[-1][1][-40:])
    return match[1] if match else ""


def _find_speakers(example: Example) -> tuple[str, ...]:
    """Return the names of the asking and the answering speaker, if a text has both."""
    for role, text in example.turns:
        if role in ("tools", "calls", "label") or ":" not in text:
            continue
        asks = ""
        for match in _SPEAKER.finditer(text):
            name = match[2].casefold()
            if asks and name in _ANSWER:
                return asks, match[1]
            if not asks and name in _ASK:
                asks = match[1]
    return ()


def _most(counts: Counter[str], known: KnownMarkers) -> tuple[str, ...]:
    """Return the most frequent markers, those of the model's own template first."""
    ordered = sorted(counts, key=lambda marker: (marker not in known.turns, -counts[marker]))
    return tuple(ordered[:_SHOWN])


def find_absent_tokens(spec: Spec, examples: Sequence[Example]) -> tuple[str, ...]:
    """Return the tokens of `model.new_tokens` that are in no row and not in the system message."""
    system = spec.data.system or ""
    absent = [token for token in spec.model.new_tokens if token not in system]
    for example in examples:
        if not absent:
            break
        absent = [token for token in absent if not any(token in text for _, text in example.turns)]
    return tuple(absent)
