"""Lists of a field's values after a verb: "train the projector along with the LM".

The verb shows the field: the trained parts of a vision model, the published files, the options of
the template, the modules trained beside adapters. "Upload only the adapter" needs "only", or
several items.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from ftc.spec.values.admission import admits
from ftc.tui.understanding.fields.spoken import value_words
from ftc.tui.understanding.reading import Change
from ftc.tui.understanding.text.lexicon import WORDS, any_of
from ftc.tui.understanding.text.message import Message

_PARTS, _WHAT, _OPTIONS = "/method/parts", "/publish/what", "/data/template_options"
_ALSO: Final = "/method/also_train"
_ONLY: Final = r"(?P<only>(?:only|just|nomes|solo|solamente|unicamente)\s+)?"
_THE: Final = r"(?:(?:the|both|el|la|els|les|los|las|al?|als)\s+|l'\s*)?"
_JOIN: Final = re.compile(
    r"\s*(?:,\s*(?:and|i|y)?|\+|&|/|\b(?:and|plus|with|along with|together with|as well as|i|y|e"
    r"|amb|con|junto (?:con|a)|juntament amb|a mes de|ademas de)\b)\s*" + _THE
)
_ONLY_BEFORE: Final = re.compile(rf"(?<!\w){_ONLY.removesuffix('?')}{_THE}$")
_LEADS: Final[Mapping[str, re.Pattern[str]]] = {
    _PARTS: re.compile(
        rf"(?<![\w-])(?:train(?:ing)?|tun(?:e|ing)|unfreez(?:e|ing)|entren(?:a|ant|ando|ar|em|amos)(?:'n|-ne|-li)?|part(?:e?s)?"
        rf"|descongela(?:r|nt|ndo)?)\s*[=:]?\s*{_ONLY}{_THE}"
    ),
    _ALSO: re.compile(
        r"(?<![\w-])(?:(?P<only>also (?:train|tune)|(?:train|tune) also|(?:tambe|tambien) entren\w*"
        rf"|entren\w* (?:tambe|tambien))|train(?:ing)?|tun(?:e|ing)|entren\w*)\s+{_THE}"
    ),
    _WHAT: re.compile(
        r"(?<![\w-])(?:(?:(?:push_to_)?hub|repo)[ =:]+[\w.-]+/[\w.-]+\w(?: \(\w+\))?\s*[:,]\s*"
        rf"|{any_of(WORDS['publish'])}\s+)"
        rf"{_ONLY}{_THE}"
    ),
}
#: Words after a list that show the field if no verb precedes it: "LM + projector trained" and, for
#: publishing, "adapter + gguf only".
_TRAILS: Final[Mapping[str, re.Pattern[str]]] = {
    _PARTS: re.compile(
        r"\s*(?:(?:are|is|be|get|gets|to be|van|va|son|se|es|s')\s*)?"
        r"(?:trained|trainable|unfrozen|tuned"
        r"|entrena(?:t|ts|da|des|do|dos|das|ble|bles)|entrenen|entrenan|descongela\w+)(?!\w)"
    ),
    _WHAT: re.compile(r"\s+(?:only|nomes|solo|solamente|unicamente)(?!\w)"),
}
_PUBLISHES: Final = re.compile(
    rf"(?<![\w-])(?:{any_of(WORDS['publish'])}|push_to_hub)(?!\w)"
    r"|(?<![\w-])(?:hub|repo)\s?[ =:]\s?[\w.-]+/\w"
)
#: "train the LM and projector, tower stays frozen": the list ends before the last item.
_FROZEN: Final = re.compile(
    r"\s*,?\s*(?:(?:stays?|is|are|kept|keeps?|remains?|left|(?:es |se )?queda|(?:se |es )?mant\w+"
    r"|sigue|segueix|va|esta)\s+)?(?:frozen|fixed|locked|untouched|congela(?:t|ts|da|des|do|dos|das)"
    r"|fix(?:e|a|os|es)?|fij[oa]s?)(?!\w)"
)
_WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    _PARTS: {
        "projector": "pro[jy](?:ector)?",
        "vision_tower": "(?:vision|vit|tower)(?:[ _]tower)?",
    },
    _ALSO: {},
    _WHAT: {
        "adapter": "(?:lora )?adapt(?:er|ador|adors|adores)",
        "merged": "merged(?: (?:model|weights))?|(?:model[o]? )?fusiona[td][oa]?",
        "gguf": "ggufs?",
    },
}
#: The options of chat templates that people name without mentioning the template.
TEMPLATE_OPTIONS: Final = ("enable_thinking", "reasoning_effort", "thinking_budget")
#: "chat_template_kwargs reasoning_effort=low, enable_thinking=false"; the names of known options.
_OPTION: Final = re.compile(
    r"(?<![\w.-])(?P<lead>(?:chat[_ ])?template[_ ](?:kwargs|options|args)\s*[=:]?\s*[{(]?\s*)?"
    rf"[\"'`]?(?P<name>(?(lead)[a-z]\w*|(?:{'|'.join(TEMPLATE_OPTIONS)})))[\"'`]?"
    r"\s?(?P<sign>[=:]\s?| )\s?(?:set )?(?:(?:to|at|as|a|en|com|como) )?"
    r"[\"'`]?(?P<value>\w+)[\"'`]?(?![\w./-])"
)
_SWITCH: Final = {
    **dict.fromkeys(("true", "on", "yes", "cert", "cierto", "verdadero"), True),
    **dict.fromkeys(("false", "off", "no", "fals", "falso"), False),
}


def read_enumerated(message: Message) -> Iterator[Change]:
    """Yield the lists after verbs, and the options of the template."""
    for pointer, lead in _LEADS.items():
        for match in list(lead.finditer(message.folded)):
            values, end = _items(pointer, message, match.end())
            enough = len(values) > 1 or (values and match["only"])
            if not enough or message.denied(match.start()) or not admits(pointer, values):
                continue
            words = message.words(match.start(), end)
            message.cross_out(match.start() if pointer == _PARTS else match.end(), end)
            yield Change(pointer=pointer, value=values, words=words)
            break
        else:
            if pointer in _TRAILS:
                yield from _read_trailed(pointer, message)
    yield from _read_options(message)


def _read_trailed(pointer: str, message: Message) -> Iterator[Change]:
    """Yield the list without a preceding verb; a list for publishing needs a word for that."""
    if pointer == _WHAT and _PUBLISHES.search(message.plain) is None:
        return
    place = 0
    while (start := _next_item(pointer, message, place)) is not None:
        values, end = _items(pointer, message, start)
        trail = _TRAILS[pointer].match(message.folded, end)
        only = _ONLY_BEFORE.search(message.folded[:start])
        listed = pointer == _WHAT and (len(values) > 1 or only is not None)
        place = max(end, start + 1)
        if not values or not (trail or listed) or message.denied(start):
            continue
        stop = trail.end() if trail else end
        if admits(pointer, values):
            first = only.start() if only is not None else start
            words = message.words(first, stop)
            message.cross_out(first, stop)
            yield Change(pointer=pointer, value=values, words=words)
            return


def _next_item(pointer: str, message: Message, place: int) -> int | None:
    """Return the start of the next item, which is a whole word."""
    starts = (
        match.start()
        for pattern in _patterns(pointer).values()
        for match in re.compile(rf"(?<![\w/.-]){pattern.pattern}").finditer(message.folded, place)
    )
    return min(starts, default=None)


def _items(pointer: str, message: Message, place: int) -> tuple[list[str], int]:
    """Return the values of the list that starts at an offset, and its end."""
    values: list[str] = []
    end = place
    while True:
        found = [
            (match.end(), value)
            for value, pattern in _patterns(pointer).items()
            if value not in values and (match := pattern.match(message.folded, place))
        ]
        if not found:
            return values, end
        stop, value = max(found)
        if values and pointer == _PARTS and _FROZEN.match(message.folded, stop):
            return values, end
        end = stop
        values.append(value)
        join = _JOIN.match(message.folded, end)
        if join is None:
            return values, end
        place = join.end()


@cache
def _patterns(pointer: str) -> Mapping[str, re.Pattern[str]]:
    said = value_words().get(pointer, {})
    more = _WORDS[pointer]
    return {
        value: re.compile(
            rf"(?:{'|'.join(filter(None, (more.get(value), said.get(value))))})(?!\w)"
        )
        for value in {**said, **more}
    }


def _read_options(message: Message) -> Iterator[Change]:
    options: dict[str, Any] = {}
    spans = []
    for match in list(_OPTION.finditer(message.folded)):
        led = match["lead"] is not None
        known = match["name"] in TEMPLATE_OPTIONS
        bracketed = message.folded[: match.start()].endswith("(")
        denied = not bracketed and message.denied(match.start())
        if denied or not (known or (led and match["sign"].strip())):
            continue
        value = match["value"]
        options[match["name"]] = _SWITCH.get(value, int(value) if value.isdecimal() else value)
        spans.append(match.span())
    if options and admits(_OPTIONS, options):
        words = ", ".join(message.words(*span) for span in spans)
        for span in spans:
            message.cross_out(*span)
        yield Change(pointer=_OPTIONS, value=options, words=words)
