"""Rewards of online training: "rewards: numeric + regex '</a>' weight 0.2 + checks.py".

Each item is a match of the reference, a pattern in quotes, a schema or a Python file, and may have
a weight before or behind it. A single match without a weight is left to the readers of names.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ftc.spec.admission import admits
from ftc.tui.understanding.lexicon import NUMBER
from ftc.tui.understanding.message import Message
from ftc.tui.understanding.numbers import as_written, read_number
from ftc.tui.understanding.reading import Change
from ftc.tui.understanding.spoken import value_words

_POINTER: Final = "/objective/rewards"
_NAMED: Final = re.compile(
    r"\b(?:rewards?|rews?(?= \w)|recompens(?:a|as|es))\b"
    r"(?:\s+(?:functions?|funcs?|fns?|funcion(?:es|s)?))?"
    r"(?:\s*(?:=|:|->)\s*|\s+(?:(?:from|are|is|of|by|with|son|de|del|en|es|amb|con|per|por)\s+)*)"
)
_WEIGHT_WORD: Final = r"(?:weight(?:ed)?|weighs?|pes(?:o|a|i)?|w)"
_WEIGHT: Final = re.compile(
    rf"\s*[(,]?\s*(?:(?:at|with|of|a|amb|con|by|un|una|de)\s+)*(?:{_WEIGHT_WORD}\s*(?:of|de|=|:|at)?\s*|[x*\u00d7@]\s*)"
    rf"(?P<number>{NUMBER})\s*\)?|\s*\((?P<bare>{NUMBER})\)"
    r"|\s+(?P<plain>\d*\.\d+)(?=\s*(?:$|[,;+&)]|(?:and|plus|i|y)\b))"
)
_TIMES: Final = re.compile(rf"(?P<number>{NUMBER})\s*(?:[x*\u00d7]\s*|\s(?=\S))")
_JOIN: Final = re.compile(
    r"\s*(?:,\s*(?:and|plus|i|y)?|\+|&|\b(?:and|plus|with|i|y|e|mes|mas|amb|con)\b)\s*"
)
_THE: Final = re.compile(r"(?:an?|the|un|una|el|la|els|les|los|las)\s+")
_REGEX: Final = re.compile(
    r"(?:regexp?|pattern|patro|patron|format)\s*[=:]?\s*(?:\"(?P<a>[^\"\n]+)\"|'(?P<b>[^'\n]+)'"
    r"|`(?P<c>[^`\n]+)`|\u00ab(?P<d>[^\u00bb\n]+)\u00bb|(?<==)(?P<e>[^\s\"'`,;]+))"
)
_FUNCTIONS: Final = re.compile(
    r"(?:functions?\s+(?:in|from|of)\s+)?(?P<path>[\w./~-]+\.py)(?!\w)"
    r"(?::\s?(?P<names>[a-z_]\w*(?:,\s?[a-z_]\w*)*)(?![\w(.]))?"
)
_SCHEMA: Final = re.compile(
    r"(?:json[ _-]?)?schema\s*[=:]?\s*(?P<path>[\w./~-]+\.json)(?!\w)"
    r"|(?P<other>[\w./~-]*schema\.json)(?!\w)"
)


def read_rewards(message: Message) -> Iterator[Change]:
    """Yield the list of rewards that follows the word."""
    for named in list(_NAMED.finditer(message.folded)):
        if message.denied(named.start()):
            continue
        rewards: list[Any] = []
        end = place = named.end()
        while (item := _item(message, place)) is not None:
            reward, end = item
            rewards.append(reward)
            join = _JOIN.match(message.folded, end)
            if join is None:
                break
            place = join.end()
        plain = all(isinstance(each, str) for each in rewards)
        if (plain and len(rewards) < 2) or not admits(_POINTER, rewards):  # noqa: PLR2004
            continue
        words = message.words(named.start(), end)
        message.cross_out(named.start(), end)
        yield Change(pointer=_POINTER, value=rewards, words=words)
        return


def _item(message: Message, place: int) -> tuple[Any, int] | None:
    """Return the reward that begins at a place, and where it ends."""
    ahead = _TIMES.match(message.folded, place)
    for begin, weight in ((place, None), *(((ahead.end(), ahead["number"]),) if ahead else ())):
        article = _THE.match(message.folded, begin)
        kind = _kind(message, article.end() if article else begin)
        if kind is None:
            continue
        reward, end = kind
        behind = _WEIGHT.match(message.folded, end)
        said = weight or (behind and (behind["number"] or behind["bare"] or behind["plain"]))
        number = read_number(said) if said else None
        if behind is not None and weight is None:
            end = behind.end()
        if number is None:
            only = reward.get("match") if len(reward) == 1 else None
            return (only or reward), end
        return {**reward, "weight": as_written(number)}, end
    return None


def _kind(message: Message, begin: int) -> tuple[dict[str, Any], int] | None:
    if (found := _REGEX.match(message.folded, begin)) is not None:
        group = next(name for name in "abcde" if found[name] is not None)
        start, end = found.span(group)
        written = message.written[message.origin[start][0] : message.origin[end - 1][1]]
        return {"regex": written}, found.end()
    if (found := _SCHEMA.match(message.folded, begin)) is not None:
        group = "path" if found["path"] else "other"
        return {"json_schema": message.words(*found.span(group))}, found.end()
    if (found := _FUNCTIONS.match(message.folded, begin)) is not None:
        functions: dict[str, Any] = {"functions": message.words(*found.span("path"))}
        if found["names"]:
            functions["names"] = re.findall(r"\w+", message.words(*found.span("names")))
        return functions, found.end()
    words: Mapping[str, str] = value_words().get(_POINTER, {})
    for value, said in words.items():
        if found := re.compile(rf"(?:{said})(?: (?:rewards?|match(?:es|ing)?))*(?![\w-])").match(
            message.folded, begin
        ):
            return {"match": value}, found.end()
    return None
