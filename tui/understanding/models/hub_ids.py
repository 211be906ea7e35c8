"""Decides from the surrounding words whether a Hub id is the data or the result's repository.

The readers classify ids by the words right before them. A clause whose subject is the data ("the
data is on huggingface under acme/calls") names a data set. A clause that sends something to the
Hub, or that states its visibility ("goes to acme/bot on the hub, private"), names the result's
repository.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ftc.compiler.knowledge.well_known.model_names import names_a_family
from ftc.compiler.knowledge.well_known.models import find_model
from ftc.tui.understanding.reading import Change, Choice
from ftc.tui.understanding.text.message import SENTENCE_END, Message, find_around, fold

_MODEL: Final = "/model/id"
_DATA: Final = "/data/source"
_REPOSITORY: Final = "/publish/repo"
_ID: Final = re.compile(r"[\w.-]+/[\w.-]+")
_ROWS: Final = (
    r"\b(?:data ?sets?|data|corpus|rows|dades|datos|conjunt de dades|conjunto de datos"
    r"|transcri\w+)\b"
)
#: Verbs that send or train something: beside them, the id does not name the data.
_SENT: Final = re.compile(
    r"\b(?:publi[sc]\w*|publiqu\w*|publish\w*|upload\w*|push\w*|releas\w*|put|save|store|penj\w+|puj\w+"
    r"|pugi\w*|sub(?:e|ir|a|irl[oa]|el[oa])|colga\w*|cuelg\w+|post|train\w*|entren\w*|model\w*)\b"
)
#: "push the model trained on our data to ...": the clause is not about the data.
_TRAINED_ON: Final = re.compile(
    r"\b(?:on|with|from|using|over|sobre|amb|con|de|del|dels)\s+"
    r"(?:(?:the|our|my|all|les|els|nostres|meves|los|las|mis|nuestros)\s+)*$"
)
#: "we uploaded the data to acme/calls": the data is the verb's object.
_SENT_ROWS: Final = re.compile(
    rf"\b(?:(?:have|has|'ve|i|we|he|hem|hemos|ha|han|vam|vaig|ja|ya) )(?:already )?"
    r"(?:published|uploaded|pushed|put|stored|posted|penja\w*|puja\w*|publica\w*|subi\w*|colga\w*)"
    rf" (?:up )?(?:(?:the|our|my|all|les|els|nostres|meves|los|las|mis|nuestros) )*{_ROWS}"
)
_ABOUT_ROWS: Final = re.compile(rf"{_ROWS}[^.;!?\n]{{0,60}}$")
_GOES: Final = re.compile(
    r"\b(?:goes|go|going|send|put|puts|land|lands|ends? up|push\w*|upload\w*|publish\w*|releas\w*"
    r"|shar(?:e|ed|ing)|result\w*|va|vagi|vaya|vayan|anira|ira|iran|penj\w+|puj\w+|pugi\w*|publi(?:ca|qu|sh)\w*"
    r"|sub(?:e|ir|a|irl[oa]|el[oa]|ela)|colg\w+|cuelg\w+|deixa\w*|deja\w*|dejal[oa])\b"
)
#: "the data are uploaded to ...": a fact, and not an order.
_DONE: Final = re.compile(
    r"\b(?:(?:colgad|subid|publicad|guardad|penjad|pujad|desad)[oa]s?|penjat|pujat|publicat|desat"
    r"|uploaded|published|pushed|stored|posted|put up)\b"
)
#: The words of the order right before the id.
_SENT_TO: Final = re.compile(rf"{_GOES.pattern}[^.,;:!?\n]{{0,32}}$")
_HUB: Final = re.compile(
    r"\b(?:hub|hugging ?face|hf|repo(?:sitor\w+)?|(?:organi[sz]aci\w+|organi[sz]ation|org|account"
    r"|profile|page|compte|cuenta|pagina|perfil)(?:'s)?)\b"
)
_SEEN: Final = re.compile(
    r"\b(?:public[ao]?|private(?:ly)?|privat|privada|privado|en obert|en abierto|licen[cs]\w*"
    r"|llicencia)\b"
)
#: Right after the id: "acme/bot, public", "acme/bot (private)".
_SEEN_BEHIND: Final = re.compile(
    rf"\s*[,(]\s*(?:as |en |amb |con |with |under |i |y |and )?{_SEEN.pattern}"
    r"|\s+(?:public[ao]?|private|privat|privad[ao])(?=\s*(?:$|[.,;!)]))"
)
_STARTS: Final = re.compile(
    r"\b(?:models?|modelos?|base|checkpoint|tun(?:e|ing)|finetun\w+|fine-tun\w+|afina\w*|entrena\w*"
    r"|ajusta\w*|start(?:ing)? (?:from|with|at)|begin with|from|based on|on top of"
    r"|continu\w+ (?:from|with)"
    r"|part(?:int|im|iendo|imos|ir|eix) de|desde|des de|basad[oa] en|basat en|use|usa|agafa|coge)"
    r"\s*(?:=|:|is|to|a|es|on|de|the|el|l'|our|my|nostre|nuestro)?\s*$"
)


def settle_ids(
    said: Sequence[Change | Choice], text: str, draft: Mapping[str, Any]
) -> list[Change | Choice]:
    """Return the values, with each unknown id in the field that its context indicates."""
    return [_settled(each, text, draft) for each in said]


def _settled(each: Change | Choice, text: str, draft: Mapping[str, Any]) -> Change | Choice:
    value = _value(each)
    known_data = isinstance(each, Change) and each.pointer == _DATA
    if value is None or known_data or find_model(value) is not None:
        return each
    message = Message(text)
    folded = message.plain
    start = folded.find(fold(value))
    if start < 0:
        return each
    end = start + len(value)
    first, last = find_around(SENTENCE_END, folded, (start, end))
    before, after = folded[first:start], folded[end:last]
    pointer = _role(before, after, other=_has_model(folded, value, draft))
    if pointer is None or (pointer == each.pointer and isinstance(each, Change)):
        return each
    sent = _SENT_TO.search(before) if pointer == _REPOSITORY else None
    begin = start if sent is None else first + sent.start()
    return Change(pointer=pointer, value=value, words=message.words(begin, end))


def _value(each: Change | Choice) -> str | None:
    """Return the id of a value or a question, if it is an id."""
    if each.pointer not in (_MODEL, _DATA, _REPOSITORY):
        return None
    values = (each.value,) if isinstance(each, Change) else each.values
    one = values[0] if len(values) == 1 else None
    return one if isinstance(one, str) and _ID.fullmatch(one) else None


def _has_model(folded: str, value: str, draft: Mapping[str, Any]) -> bool:
    return draft.get("model") is not None or names_a_family(folded.replace(fold(value), " "))


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _role(before: str, after: str, *, other: bool) -> str | None:
    """Return the field of an id between two parts of its sentence, or None if it is unclear."""
    if _SENT_ROWS.search(before):
        return _DATA
    rows = _ABOUT_ROWS.search(_DONE.sub(_blank, before))
    trained_on = rows is not None and _TRAINED_ON.search(before[: rows.start()]) is not None
    if rows is not None and not trained_on and _SENT.search(rows[0]) is None:
        return _DATA
    if _STARTS.search(before):
        return None
    around = f"{before} {after}"
    told = _HUB.search(around) is not None or _SEEN.search(around) is not None
    if _GOES.search(before) and told:
        return _REPOSITORY
    return _REPOSITORY if other and _SEEN_BEHIND.match(after) else None
