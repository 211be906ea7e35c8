"""Names of columns in running text, each with the role that its sentence likeliest gives it.

What may be a name is in quotes, or looks like no ordinary word, or stands where a column does. The
words around it, its own words and its place among the other names are the features of a linear
model, which gives each role a probability. The roles of a message are chosen together.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import log
from typing import Final

from ftc.compiler.knowledge.accelerators import find_accelerator
from ftc.spec.schema import choices, fields
from ftc.tui.understanding.learned.linear import NONE, Fit, read_model
from ftc.tui.understanding.learned.stems import field_stems, stem
from ftc.tui.understanding.mentioned import find_roles, role_of_name
from ftc.tui.understanding.message import fold

SECTION: Final = "/data/columns/"
_LETTER: Final = r"[^\W\d_]"
_BIG: Final = r"[A-Z\u00c0-\u00d6\u00d8-\u00de]"
_QUOTED: Final = re.compile(
    r"(?<![^\W_])(?:'(?P<a>[^'\n]{1,40})'|\"(?P<b>[^\"\n]{1,40})\"|`(?P<c>[^`\n]{1,40})`"
    r"|\u00ab(?P<d>[^\u00bb\n]{1,40})\u00bb|[\u201c\u2018](?P<e>[^\u201d\u2019\n]{1,40})[\u201d\u2019])"
    r"(?![^\W_])"
)
#: A name that is no word: "user_text", "PlayerLine", "OK_resp", "q1", "TIPO-AVERIA".
_CODE: Final = re.compile(
    rf"(?<![\w./\\@-])(?:{_LETTER}[^\W_]*(?:_\w+)+|{_LETTER}+\d{{1,2}}|[a-z]+[A-Z]\w*"
    rf"|[A-Z][a-z]+[A-Z]\w*|[A-Z]{{2,}}(?:[_-]\w+)*|[a-z]+-[a-z]+)(?![\w/\\@]|[.-]\w)"
)
_COLUMN: Final = (
    r"(?:columns?|columna|columnes|columnas|colunma|fields?|camps?|campos?|cols?\.?)(?!\w)"
    r"(?: (?:called|named|no\.|es diu|es diuen|se llama|se llaman|anomenad[ae]s?|llamad[ao]s?|is|are|es|son)(?!\w))?"
)
_WORD: Final = rf"{_LETTER}[\w'\u2019-]*"
_SMALL: Final = r"(?:(?![A-Z\u00c0-\u00de])[^\W\d_]['\w]*)"
_NO_TAIL: Final = (
    "goes?|comes?|has|have|holds?|is|are|contains?|and|or|with|for|to|as|in|on|of|the|this|that|es|son|va|van|te|tiene|tienen"
    "|lleva|porta|conte|contiene|con|amb|para|per|por|como|com|y|i|e|o|la|el|les|las|los|els|que|una?|surt|entra|sale|please|now|ara|ahora|diu|\u00e9s|s\u00f3n|t\u00e9|se|en|not|no|from|they|it|which|where|but|pero"
)
#: Words with capitals and numbers behind a first word with a capital: "Owner Msg", "Pregunta 1".
_CAPITAL: Final = rf"{_BIG}\w*(?:(?:[ /]{_BIG}\w*)|(?: \d{{1,2}}\b)|(?: \(\w+\)))*"
_UPPER: Final = re.compile(rf"(?<![\w./\\@-])(?P<name>{_CAPITAL})(?![\w/\\@]|[.-]\w)")
#: Words behind it up to the end of the clause: "Resposta t\u00e8cnic", "Soluci\u00f3 pas a pas".
_TAIL: Final = (
    rf"(?:\s(?!(?:{_NO_TAIL})\b){_SMALL})*?(?:\s(?!(?:{_NO_TAIL}|a|de)\b){_SMALL})"
    r"(?=\s*(?:$|[,.;:)\n]|\b(?:and|i|y|e)\s))"
)
_LONG: Final = re.compile(
    rf"(?:\b(?:in|under|en|a|es|\u00e9s|called|diu|llama)\s|:\s?)(?P<name>{_CAPITAL}{_TAIL})"
)
_BEHIND_COLUMN: Final = re.compile(
    rf"(?<!\w)(?i:{_COLUMN})\s?[:=]?\s?(?P<name>{_CAPITAL}{_TAIL}|{_CAPITAL}|{_SMALL}{_TAIL}|{_WORD})(?![\w/\\])"
)
#: A word where a name stands: "the prompt in ask", "question: q", "text -> label".
_PLACED: Final = re.compile(
    rf"(?:\b(?:in|under|from|is|en|a|de|es|\u00e9s|est[\u00e1\u00e0]|called|diu|llama|named|ahora)\s"
    rf"|[:=(/]\s?|(?:->|\u2192|=>)\s?|,\s|\b(?:and|i|y|e|or|o)\s)(?P<name>{_WORD})(?=\s*(?:$|[,.;:)(/=]|->|\u2192|=>|\b(?:and|i|y|e)\s))"
)
#: A word whose role is told behind it: "winner is the good reply", "q1 es la pregunta".
_SUBJECT: Final = re.compile(
    rf"(?:^|[,.;:(]\s?|\b(?:and|i|y|e)\s)(?P<name>{_WORD})\s(?:is|has|holds|es|\u00e9s|t\u00e9|tiene|lleva|porta|va|son|s\u00f3n|are|=)\s"
)
_FILE: Final = re.compile(r"\S+\.(?:csv|tsv|jsonl?|parquet|xlsx|txt|gguf|jinja|py|ya?ml|bin)\b")
_TOKEN: Final = re.compile(r"@+|\x02+|[a-z]+|\d+|->|=>|[^\sa-z\d]")
_OTHER: Final = re.compile(
    r"(?:qwen|llama|gemma|mi[sn]tral|mixtral|phi-?\d|smollm|deepseek|falcon|granite|salamandra|eurollm|\w*bert|rtx|gtx|nvidia|[ahlvt]\d{1,3}s?\b"
    r"|q?lora\b|gguf|vllm|gpus?\b|cpu\b|ram\b|gb\b|tb\b|v?ram\b|instruct\b|dpo|kto|orpo|grpo|simpo|cpo\b|rloo|sft\b)"
)
_PARTS: Final = re.compile(r"[a-z]+|\d+")
_BREAK: Final = re.compile(r"[@;!?\n]+|\.(?=\s|$)|,\s|\s(?:and|i|y|e)\s")
_END: Final = frozenset(".;!?\n")
_LONGEST: Final = 4
_SHORT: Final = 4
_AROUND: Final = 8
_MOST: Final = 8
_MESSAGE: Final = 1000
_LEAST: Final = 0.02
#: Roles of rows that are never in one spec with others.
_APART: Final = (
    (
        frozenset({"instruction", "output", "input"}),
        frozenset({"prompt", "completion", "chosen", "rejected", "messages", "text"}),
    ),
    (frozenset({"text"}), frozenset({"completion", "chosen", "rejected", "messages", "prompt"})),
    (frozenset({"chosen", "rejected"}), frozenset({"completion", "messages", "score"})),
    (frozenset({"messages"}), frozenset({"prompt", "completion"})),
)


#: The usual roles, each with those that words tell for it: "text" is said of a prompt too.
_LIKE: Final[Mapping[str, frozenset[str] | set[str]]] = {
    "prompt": {"prompt", "text"},
    "completion": {"completion", "label", "score"},
    "text": {"text", "prompt"},
    "label": {"label"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A text that may name a column, its range as written, its features and the fit of roles."""

    text: str
    start: int
    end: int
    features: Sequence[str]
    fits: Mapping[str, Fit]
    told: frozenset[str]

    def may_be(self, pointer: str) -> bool:
        """Return whether no word beside the name tells another role, and a rare one is told."""
        role = pointer.removeprefix(SECTION)
        like = _LIKE.get(role, {role})
        return bool(self.told & like) if self.told else role in _LIKE

    def weigh(self) -> Mapping[str, float]:
        """Return the probability of each role, and that the text names no column."""
        return read_model("roles").weigh(self.features, self.fits)


def find_names(text: str, known: Sequence[str]) -> Sequence[Name]:
    """Return what may name a column in a message; `known` are the columns of its data."""
    text = text[:_MESSAGE]
    found: dict[tuple[int, int], str] = {}
    files = [match.span() for match in _FILE.finditer(text)]
    for start, end, shape in _candidates(text, known):
        if any(s < end and start < e for s, e in files) or _is_named(fold(text[start:end])):
            continue
        over = [span for span in found if span[0] < end and start < span[1]]
        if over:
            if (
                all(b - a < end - start for a, b in over)
                and shape in ("quoted", "upper", "long")
                and not any(found[s] == "quoted" for s in over)
            ):
                for span in over:
                    del found[span]
            else:
                continue
        found[start, end] = shape
    spans = sorted(found)[:_MOST]
    hidden = list(fold(text))
    for s, e in files:
        hidden[s:e] = "\x02" * (e - s)
    for s, e in spans:
        hidden[s:e] = "@" * (e - s)
    bare = "".join(hidden)
    return [_make(text, bare, spans, at, found[span], known) for at, span in enumerate(spans)]


@cache
def _is_named(folded: str) -> bool:
    """Return whether a text begins as the name of a model or of a device does."""
    return _OTHER.match(folded) is not None or find_accelerator(folded) is not None


def _candidates(text: str, known: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    for match in _QUOTED.finditer(text):
        group = next(name for name in "abcde" if match[name] is not None)
        if len(match[group].split()) <= _LONGEST and match[group].strip(": ") == match[group]:
            yield *match.span(group), "quoted"
    for name in known:
        for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text):
            yield *match.span(), "known"
    for match in _BEHIND_COLUMN.finditer(text):
        if match["name"].lower() not in _STOPS:
            yield *match.span("name"), "column"
    for match in _LONG.finditer(text):
        if len(match["name"].split()) <= _LONGEST:
            yield *match.span("name"), "long"
    for match in _UPPER.finditer(text):
        begins = text[: match.start()].rstrip()
        if begins and begins[-1] not in ".!?\n":
            yield *match.span("name"), "upper"
    for match in _CODE.finditer(text):
        if fold(match[0]) not in _values():
            yield *match.span(), "code"
    for pattern, shape in ((_PLACED, "placed"), (_SUBJECT, "subject")):
        for match in pattern.finditer(text):
            if match["name"].lower() not in _STOPS:
                yield *match.span("name"), shape


_STOPS: Final = frozenset(
    ["the", "a", "an", "is", "are", "in", "of", "to", "and", "or", "it", "that", "this", "for", "with", "as", "el", "la", "els", "les", "los", "las", "un", "una", "i", "y", "e", "o", "en", "de", "del", "al", "que", "amb", "con", "per", "por", "para", "es", "son", "com", "como", "not", "no", "called", "named", "es", "diu", "se", "llama", "si", "yes", "please", "thanks", "us"]
)


@cache
def _values() -> frozenset[str]:
    return frozenset(fold(str(value)) for field in fields() for value in choices(field.schema))


@cache
def list_roles() -> tuple[str, ...]:
    """Return the pointers of the columns of all forms of rows."""
    return tuple(field.pointer for field in fields() if field.pointer.startswith(SECTION))


def _make(text, bare, spans, at, shape, known) -> Name:
    start, end = spans[at]
    before = _tokens(bare[max(0, start - 120) : start])[-_AROUND:][::-1]
    after = _tokens(bare[end : end + 120])[:_AROUND]
    own = [stem(part) for part in _PARTS.findall(fold(text[start:end]).replace("_", " "))]
    last = re.split(r"[a-z](?=[A-Z])|[\W\d_]+", text[start:end])
    whole = sorted(set(map(stem, _PARTS.findall(fold(text)))))
    features = ["bias", f"shape:{shape}", f"at {at} of {len(spans)}", f"of {len(spans)}"]
    features += [f"own:{each}" for each in sorted(set(own))]
    features += [f"message:{each}" for each in whole if each in _telling()]
    for side, words in (("b", before), ("a", after)):
        near = _sentence(words)
        features.append(f"{side}1:{words[0] if words else '$'}")
        if len(words) > 1:
            features += [f"{side}2:{words[1]}", f"{side}12:{words[0]} {words[1]}"]
        clause = _clause(near)
        features += [f"{side}c:{each}" for each in sorted(set(clause))]
        features += [f"{side}s:{each}" for each in sorted(set(near))]
    if at:
        features.append(f"link:{_link(bare[spans[at - 1][1] : start])}")
    if at + 1 < len(spans):
        features.append(f"next:{_link(bare[end : spans[at + 1][0]])}")
    told = _told(bare, start, end, text[start:end])
    for places in told.values():
        places |= {f"{place}, {shape}" for place in places if place.endswith("nearest")}
    features += sorted(f"{place}:{role}" for role, places in told.items() for place in places)
    fits = {
        role: _fit(field_stems()[role], own, before, after)
        | dict.fromkeys(told.get(role.removeprefix(SECTION), ()), 1.0)
        for role in list_roles()
    }
    return Name(
        text=text[start:end],
        start=start,
        end=end,
        features=features,
        fits=fits,
        told=frozenset(
            role
            for role, places in told.items()
            if role and any(each.endswith(("nearest", "name")) for each in places)
        ),
    )


def _told(bare: str, start: int, end: int, name: str) -> Mapping[str, set[str]]:
    """Return where the words around a name tell each role, and whether the name itself does."""
    told: dict[str, set[str]] = {}
    before = _BREAK.split(bare[max(0, start - 90) : start])
    after = _BREAK.split(bare[end : end + 90], maxsplit=1)[0]
    for place, text, at in (("told before", before[-1], -1), ("told after", after, 0)):
        found = find_roles(text)
        for index, (first, last, role) in enumerate(found):
            told.setdefault(role, set()).add(place)
            if index == (len(found) - 1 if at else 0):
                told[role].add(f"{place} nearest")
                gap = len(text[last:].split()) if at else len(text[:first].split())
                told[role].add(f"{place} gap {min(gap, 4)}")
                beside = _tokens(text)
                link = (beside[-1] if at else beside[0]) if beside else "$"
                link = beside[-2] if link in "'`\"\u00ab" and len(beside) > 1 and at else link
                if len(link) <= _SHORT:
                    told[role].add(f"{place} by {link}")
    if told:
        told[""] = {f"any {each}" for places in told.values() for each in places}
    own = role_of_name(fold(name))
    if own is not None:
        told.setdefault(own, set()).add("told by name")
    return told


@cache
def _telling() -> frozenset[str]:
    return frozenset(
        ["dpo", "kto", "orpo", "simpo", "cpo", "grpo", "embed", "rerank", "prefer", "sft", "cpt", "classi", "classe", "clasif", "vector", "tool", "tools", "eines", "herram", "chat", "conver", "alpaca", "instru", "img", "foto", "fotos", "pictur", "image", "imatge", "imagen", "simila", "semeja", "simili", "thumbs", "votes", "vot", "voto", "polze", "pulgar"]
    )


def _link(between: str) -> str:
    return " ".join(_tokens(between)[:4]) if len(between) < 30 else "far"


def _tokens(text: str) -> list[str]:
    return [
        "@" if t[0] == "@" else "FILE" if t[0] == "\x02" else stem(t) if t[0].isalnum() else t
        for t in _TOKEN.findall(text)
    ]


def _sentence(words):
    return words[: next((at for at, word in enumerate(words) if word in _END), len(words))]


def _clause(words):
    return words[
        : next(
            (
                at
                for at, word in enumerate(words)
                if word in ("@", ",", ":", "(", ")", "and", "i", "y")
            ),
            len(words),
        )
    ]


def _fit(stems, own, before, after) -> dict[str, float]:
    fit: dict[str, float] = {}
    value = sum(stems.get(each, 0.0) for each in set(own))
    if value:
        fit["own"] = value
    for side, words in (("before", before), ("after", after)):
        for near, part in (("clause", _clause(_sentence(words))), ("sentence", _sentence(words))):
            value = max((stems.get(each, 0.0) for each in part), default=0.0)
            if value:
                fit[f"{side} {near}"] = value
    return fit


def assign(
    names: Sequence[Name], shares: Sequence[Mapping[str, float]]
) -> list[tuple[Name, str, float]]:
    """Return each name that has a role, its role and how sure that is; chosen together."""
    best: tuple[float, list[str]] = (float("-inf"), [])

    def search(at: int, roles: list[str], score: float) -> None:
        nonlocal best
        if score <= best[0]:
            return
        if at == len(names):
            best = (score, [*roles])
            return
        ranked = sorted(shares[at].items(), key=lambda pair: -pair[1])[:5]
        ranked += [(NONE, shares[at][NONE])] if NONE not in dict(ranked) else []
        for role, share in ranked:
            if share < _LEAST and role != NONE:
                continue
            if role != NONE and not _may(role, roles, names, at):
                continue
            search(at + 1, [*roles, role], score + log(max(share, 1e-9)))

    search(0, [], 0.0)
    result = []
    for at, (name, role) in enumerate(zip(names, best[1], strict=True)):
        if role == NONE:
            continue
        others = [each for place, each in enumerate(best[1]) if place != at]
        free = {
            each: share
            for each, share in shares[at].items()
            if each == NONE or _may(each, others, (), 0)
        }
        result.append((name, role, free[role] / sum(free.values())))
    return result


def may_stand_beside(one: str, other: str) -> bool:
    """Return whether two roles can be in one spec."""
    return _may(one, [other], (), 0)


def _may(role: str, taken: Sequence[str], names: Sequence[Name], at: int) -> bool:
    if any(
        each == role and not (names and names[place].text == names[at].text)
        for place, each in enumerate(taken)
    ):
        return False
    own = role.removeprefix(SECTION)
    others = {each.removeprefix(SECTION) for each in taken if each}
    return not any(
        (own in one and others & two) or (own in two and others & one) for one, two in _APART
    )
