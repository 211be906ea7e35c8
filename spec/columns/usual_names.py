"""The usual names of columns: which role each stands for in rows of each form."""

import json
import unicodedata
from collections.abc import Collection, Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from ftc.spec.sections import Form, ObjectiveType

#: The forms in the order in which they are tried, each with the roles it needs.
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

#: The forms that columns show by themselves. A column of prompts shows no form: its rows are
#: prompts alone only where the objective samples the answers.
SHOWN: Final = tuple(form for form in NEEDED if form != "prompt")

#: Of texts that are compared as vectors, the names of both columns in the same order.
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
VERDICTS: Final = (*("label", "desirable", "feedback", "rating", "thumbs_up", "thumb", "verdict"),)
#: The usual names of a column of images.
IMAGE_NAMES: Final = ("images", "image", "image_path", "img", "picture")
#: Names that public data sets use, in lower case; several rows of a form are tried in order.
#: Names in other languages are in `column_names.json`.
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
            "prompt": ("prompt", "question", "instruction", "query", "input", "user"),
            "images": IMAGE_NAMES,
        },
    ),
    (
        "feedback",
        {
            "prompt": ("prompt", "question", "instruction", "query", "input", "user"),
            "completion": ("completion", "response", "answer", "output", "assistant", "reply"),
            "label": VERDICTS,
        },
    ),
    # a conversation that ends with the answer brings its own prompt
    ("feedback", {"completion": CONVERSATIONS, "label": VERDICTS}),
    # Gemini's name, which other data uses for texts
    ("chat", {"messages": ("contents",)}),
    ("prompt", {"prompt": (*PROMPTS, "instruction", *CONVERSATIONS)}),
)

#: The names of texts that are compared as vectors; tried before the others, for such an objective.
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

#: The forms of rows that each objective trains on, in the order in which they are tried.
FORMS: Final[Mapping[ObjectiveType, tuple[Form, ...]]] = {
    "sft": ("chat", "instruction", "prompt_completion", "text"),
    "cpt": ("text",),
    "dpo": ("preference",),
    "kto": ("feedback",),
    "orpo": ("preference",),
    "cpo": ("preference",),
    "simpo": ("preference",),
    "grpo": ("chat", "instruction", "prompt_completion", "prompt"),
    "rloo": ("chat", "instruction", "prompt_completion", "prompt"),
    "distill": ("chat", "instruction", "prompt_completion", "prompt"),
    "classification": ("prompt_completion",),
    "reward": ("preference",),
    "embed": ("preference", "scored", "prompt_completion"),
    "rerank": ("preference", "scored", "prompt_completion"),
}

#: The roles that rows of each form may have; of forms alike, the more common one comes first.
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
    """Return the role of each name in rows of a form that has a role for all of them.

    A name that is a role of the form stands for itself. The forms of the objective come first, and
    of several those that lack no role. Without such a form nothing is returned.
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
    """Return a role of the form for each name; nothing if one of them has none."""
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
    """Return the English name that a column's name stands for, in lower case.

    Accents, spaces and hyphens do not count, so `Título del correo` is `titulo_del_correo`.
    """
    plain = unicodedata.normalize("NFKD", column.strip().lower())
    bare = "".join(letter for letter in plain if not unicodedata.combining(letter))
    name = "_".join(bare.replace("-", " ").split())
    return _translations().get(name, name)


@cache
def _translations() -> Mapping[str, str]:
    """Return the English name of each name in another language."""
    text = (files("ftc.spec.columns") / "column_names.json").read_text(encoding="utf-8")
    return {
        other: english
        for languages in json.loads(text).values()
        for english, others in languages.items()
        for other in others
    }
