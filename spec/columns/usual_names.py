"""The usual names of columns, with the role of each in each row format."""

import json
import unicodedata
from collections.abc import Collection, Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from ftc.spec.sections import FORMS, Form

#: The row formats in the order in which they are tried, each with its required roles.
NEEDED: Final[Mapping[Form, tuple[str, ...]]] = {
    "chat": ("messages",),
    "instruction": ("instruction", "output"),
    "prompt_completion": ("prompt", "completion"),
    "text": ("text",),
    "preference": ("chosen", "rejected"),
    "feedback": ("prompt", "completion", "label"),
    "scored": ("prompt", "completion", "score"),
    "prompt": ("prompt",),
}

#: The row formats that can be inferred from the columns alone. A column of prompts is not enough:
#: rows are only prompts if the objective samples the answers.
SHOWN: Final = tuple(form for form in NEEDED if form != "prompt")

#: For texts that are compared as vectors, the names of both columns in the same order.
QUERIES: Final = ("anchor", "query", "question", "prompt", "sentence1", "sentence_1", "text1")
DOCUMENTS: Final = (
    *("positive", "pos", "passage", "document", "answer", "completion"),
    *("sentence2", "sentence_2", "text2"),
)
PROMPTS: Final = ("prompt", "question", "query", "user", "input", "source", "problem")
REPLIES: Final = (
    *("completion", "response", "answer", "assistant", "output", "reply"),
    *("target", "solution", "ground_truth"),
)
LABELS: Final = ("label", "labels", "category", "intent", "class", "sentiment", "topic", "target")
CONVERSATIONS: Final = ("messages", "conversations", "conversation", "chat", "dialogue")
#: The names of prompts beside answers that are judged. A conversation may be the prompt.
ASKED: Final = ("prompt", "question", "instruction", "query", "input", "user", *CONVERSATIONS)
VERDICTS: Final = (
    *("label", "desirable", "feedback", "rating", "thumbs_up", "thumb", "verdict", "kto_tag"),
)
#: The usual names of a column of images.
IMAGE_NAMES: Final = ("images", "image", "image_path", "img", "picture")
#: Names in public data sets, in lower case; several entries of a format are tried in order. Names
#: in other languages are in `column_names.json`.
USUAL: Final[tuple[tuple[Form, Mapping[str, tuple[str, ...]]], ...]] = (
    (
        "chat",
        {
            "messages": CONVERSATIONS,
            "tools": ("tools", "functions"),
            "images": IMAGE_NAMES,
        },
    ),
    (
        "instruction",
        {
            "instruction": ("instruction",),
            "output": ("output", "response", "completion", "answer"),
            "input": ("input", "context"),
            "images": IMAGE_NAMES,
        },
    ),
    (
        "prompt_completion",
        {
            "prompt": PROMPTS,
            "completion": REPLIES,
            "images": IMAGE_NAMES,
        },
    ),
    (
        "prompt_completion",
        {
            "prompt": (
                *("text", "message", "sentence", "utterance", "review", "content"),
                *("query", "question", "prompt", "input", "title"),
            ),
            "completion": LABELS,
            "images": IMAGE_NAMES,
        },
    ),
    ("text", {"text": ("text", "content", "document")}),
    (
        "preference",
        {
            "chosen": (
                "chosen",
                "chosen_response",
                "preferred",
                "response_chosen",
                "winner",
                "preferred_output",
            ),
            "rejected": (
                *("rejected", "rejected_response", "dispreferred", "response_rejected", "loser"),
                "non_preferred_output",
            ),
            "prompt": ASKED,
            "images": IMAGE_NAMES,
        },
    ),
    (
        "feedback",
        {
            "prompt": ASKED,
            "completion": ("completion", "response", "answer", "output", "assistant", "reply"),
            "label": VERDICTS,
        },
    ),
    # a conversation that ends with the answer includes its prompt
    ("feedback", {"completion": CONVERSATIONS, "label": VERDICTS}),
    # Gemini's name, which other data sets use for texts
    ("chat", {"messages": ("contents",)}),
    ("prompt", {"prompt": (*PROMPTS, "instruction", *CONVERSATIONS)}),
)

#: The names of texts that are compared as vectors; an objective with vectors tries them first.
OF_VECTORS: Final[tuple[tuple[Form, Mapping[str, tuple[str, ...]]], ...]] = (
    (
        "preference",
        {
            "prompt": QUERIES,
            "chosen": DOCUMENTS,
            "rejected": ("negative", "neg", "hard_negative"),
        },
    ),
    (
        "scored",
        {
            "prompt": QUERIES,
            "completion": DOCUMENTS,
            "score": ("score", "similarity", "similarity_score", "relatedness", "label"),
        },
    ),
    ("prompt_completion", {"prompt": QUERIES, "completion": DOCUMENTS}),
)

#: The possible roles in each row format; of similar formats, the more common one comes first.
ROLES: Final[Mapping[str, tuple[str, ...]]] = {
    form: tuple(
        dict.fromkeys(
            role for kind, usual in (*USUAL, *OF_VECTORS) if kind == form for role in usual
        )
    )
    for form in dict.fromkeys(("chat", "prompt_completion", *NEEDED))
}


def find_roles(
    names: Collection[str], *, form: str = "auto", objective: str = "sft"
) -> dict[str, str]:
    """Return the role of each name in a row format that has roles for all of them.

    A name that is a role of the format means itself. The objective's formats come first, and among
    several those with all required roles. Without such a format, nothing is returned.
    """
    own = next((forms for kind, forms in FORMS.items() if kind == objective), SHOWN)
    vectors, others = (OF_VECTORS, USUAL) if "scored" in own else (USUAL, OF_VECTORS)
    first = [table for table in (*vectors, *USUAL) if table[0] in own]
    found: list[dict[str, str]] = []
    for kind, usual in (*first, *vectors, *others):
        taken = _take(names, usual) if form in ("auto", kind) else {}
        if taken and {*NEEDED[kind]} <= {*taken.values()}:
            return taken
        found += [taken] if taken else []
    return found[0] if found else {}


def _take(names: Collection[str], usual: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Return a role of the format for each name; nothing if one of them has no role."""
    found = {name: name for name in names if name in usual}
    for name in names:
        if name in found:
            continue
        plain = usual_name(name)
        free = (role for role, known in usual.items() if plain in known)
        role = next((role for role in free if role not in found.values()), None)
        if role is None:
            return {}
        found[name] = role
    return found


def usual_name(column: str) -> str:
    """Return the English equivalent of a column's name, in lower case.

    Accents, spaces and hyphens do not count, so `Título del correo` is `titulo_del_correo`.
    """
    plain = unicodedata.normalize("NFKD", column.strip().lower())
    bare = "".join(letter for letter in plain if not unicodedata.combining(letter))
    name = "_".join(bare.replace("-", " ").split())
    return _translations().get(name, name)


@cache
def _translations() -> Mapping[str, str]:
    """Return the English equivalent of each name in another language."""
    text = (files("ftc.spec.columns") / "column_names.json").read_text(encoding="utf-8")
    return {
        other: english
        for languages in json.loads(text).values()
        for english, others in languages.items()
        for other in others
    }
