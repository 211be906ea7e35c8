"""Rewards of online training: "rewards: numeric + regex '</a>' weight 0.2 + checks.py".

Each item is a match of the reference, a quoted pattern, a schema or a Python file, with an optional
weight before or after it. A single match without a weight is left to the readers of names.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from ftc.compiler.knowledge.objectives import REWARDED
from ftc.spec.values.admission import admits
from ftc.tui.understanding.fields.spoken import value_words
from ftc.tui.understanding.reading import Change, value_at
from ftc.tui.understanding.text.lexicon import NUMBER
from ftc.tui.understanding.text.message import SENTENCE_END, Message, find_around
from ftc.tui.understanding.text.numbers import as_written, read_number

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
_TIMES: Final = re.compile(
    rf"(?P<number>{NUMBER})\s*(?:[x*\u00d7]\s*|\s(?=\S))"
    r"(?:(?:for|if|por|si|per)\s+(?:it\s+)?(?:(?:match\w*|coincid\w+|cumpl\w+|compl\w+)\s+)?)?"
)
_JOIN: Final = re.compile(
    r"\s*(?:,\s*(?:and|plus|i|y)?|\+|&|\b(?:and|plus|with|i|y|e|mes|mas|amb|con)\b)\s*"
)
_THE: Final = re.compile(r"(?:an?|the|un|una|el|la|els|les|los|las)\s+")
_REGEX: Final = re.compile(
    r"(?:regexp?|pattern|patro|patron|format)\s*[=:]?\s*(?:\"(?P<a>[^\"\n]+)\"|'(?P<b>[^'\n]+)'"
    r"|`(?P<c>[^`\n]+)`|\u00ab(?P<d>[^\u00bb\n]+)\u00bb|(?<==)(?P<e>[^\s\"'`,;]+)"
    # without quotes, it ends at "$" or before a space
    rf"|(?P<g>[^\s\"'`,;:](?:(?!\s(?:and|i|y|plus|regexp?|{_WEIGHT_WORD})\b)[^,;\n])*?\$)(?=\s|[,;]|$)"
    r"|(?P<f>(?=[^\s,;]*[\\\[\](){}^$*+?|])[^\s\"'`,;:](?:[^\s,;]|,(?=\d*\}))*?)(?=\s|$|[,;](?!\d*\})"
    rf"|\((?:{_WEIGHT_WORD}\s*[=:]?\s*)?\d*\.?\d+\)))"
)
_FUNCTIONS: Final = re.compile(
    r"(?:functions?\s+(?:in|from|of)\s+)?(?P<path>[\w./~-]+\.py)(?!\w)"
    r"(?::\s?(?P<names>[a-z_]\w*(?:,\s?[a-z_]\w*)*)(?![\w(.]))?"
)
#: A file of rewards with its functions: "rewards.py: correctness (weight 1) and brevity (0.1)".
_OF_FILE: Final = re.compile(r"(?P<path>[\w./~-]+\.py)\s*(?::|->|\u2192|\s-\s|(?=\s?\())\s*\(?")
_FUNCTION: Final = re.compile(r"(?P<name>[a-z_]\w*)(?![\w./])")
_REWARDS: Final = re.compile(r"rewa?r?d|recompens|premi")
_SCRIPT: Final = re.compile(r"(?<![\w/.])[\w./~-]+\.py(?![\w/])")
#: A single function: "the function is_short of rewards.py".
_NAMES_ONE: Final = re.compile(
    r"\bfun(?:c|k)\w*\s+(?!(?:of|in|from|for|to|are|is|live|del?|d'|a|en|que|estan?|son|i|y|and|per"
    r"|para|amb|con|with|we|my|our|recompensa|propi\w*)\b)\w+|\b[a-z]+_[a-z_]+\b(?!\.py)"
)
_CODED: Final = re.compile(r"\b[a-z]+_[a-z_]+\b(?!\.py)")
_TOOLS: Final = re.compile(r"\b(?:tools?|eines?|herramient\w+)")
_SCHEMA: Final = re.compile(
    r"(?:json[ _-]?)?schema\s*[=:]?\s*(?P<path>[\w./~-]+\.json)(?!\w)"
    r"|(?P<other>[\w./~-]*schema\.json)(?!\w)"
)


def read_rewards(message: Message, draft: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the list after the word "rewards", or of matches, or the functions of a file."""
    starts = [(named.start(), named.end()) for named in _NAMED.finditer(message.folded)]
    starts += [(each.start(), each.start()) for each in _matches().finditer(message.folded)]
    for start, first in starts:
        if message.denied(start):
            continue
        rewards: list[Any] = []
        end = place = first
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
        words = message.words(start, end)
        message.cross_out(start, end)
        yield Change(pointer=_POINTER, value=rewards, words=words)
        return
    if (functions := _of_file(message, draft)) or (functions := _in_files(message)):
        yield functions


@cache
def _matches() -> re.Pattern[str]:
    """Return the pattern for the kind of match before the word "reward": "numeric reward"."""
    words = "|".join(value_words().get(_POINTER, {}).values())
    return re.compile(rf"(?<![\w-])(?:{words}) rewards?(?!\w)")


def _of_file(message: Message, draft: Mapping[str, Any]) -> Change | None:
    """Return the functions of a file as rewards, each with its weight, if any."""
    online = any(re.search(rf"\b{each}\b", message.plain) for each in REWARDED)
    if not online and value_at(draft, "/objective/type") not in REWARDED:
        return None
    for match in list(_OF_FILE.finditer(message.folded)):
        found: list[tuple[str, float | None]] = []
        end = place = match.end()
        while (name := _FUNCTION.match(message.folded, place)) is not None:
            weight = _WEIGHT.match(message.folded, name.end())
            said = weight and (weight["number"] or weight["bare"] or weight["plain"])
            end = weight.end() if weight is not None else name.end()
            found.append((message.words(*name.span()), read_number(said) if said else None))
            join = _JOIN.match(message.folded, end)
            if join is None:
                break
            place = join.end()
        weighted = any(weight is not None for _, weight in found)
        about = weighted or _REWARDS.search(match["path"])
        if not found or not about or message.denied(match.start()):
            continue
        path = message.words(*match.span("path"))
        rewards = _entries(path, found) if weighted else [_entry(path, [name for name, _ in found])]
        words = message.words(match.start(), end)
        message.cross_out(match.start(), end)
        return Change(pointer=_POINTER, value=rewards, words=words)
    return None


def _in_files(message: Message) -> Change | None:
    """Return the reward files of sentences about rewards: "my own rewards, in acc.py".

    If a sentence also mentions tools, the last word before the file decides.
    """
    found = []
    for match in _SCRIPT.finditer(message.folded):
        first, last = find_around(SENTENCE_END, message.folded, match.span())
        said = [
            (place.start() <= match.start(), place.start(), kind is _REWARDS)
            for kind in (_REWARDS, _TOOLS)
            for place in kind.finditer(message.folded, first, last)
        ]
        item = _item(message, match.start())
        named = _NAMES_ONE.search(message.folded, first, match.start()) or _CODED.search(
            message.folded, match.end(), last
        )
        if named or item is None or message.denied(match.start()):
            continue  # functions of the file, which other patterns read
        if said and max(said)[2]:
            found.append((match.start(), *item))
    rewards = [reward for _, reward, _ in found]
    if not found or not admits(_POINTER, rewards):
        return None
    words = ", ".join(message.words(start, end) for start, _, end in found)
    for start, _, end in found:
        message.cross_out(start, end)
    return Change(pointer=_POINTER, value=rewards, words=words)


def _entries(path: str, found: list[tuple[str, float | None]]) -> list[dict[str, Any]]:
    """Return a reward for each function; a weight of one is the default."""
    return [
        _entry(path, [name]) | ({} if weight in (None, 1) else {"weight": as_written(weight or 0)})
        for name, weight in found
    ]


def _entry(path: str, names: list[str]) -> dict[str, Any]:
    return {"functions": path, "names": names}


def _item(message: Message, place: int) -> tuple[Any, int] | None:
    """Return the reward that starts at an offset, and its end."""
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
        group = next(name for name in "abcdefg" if found[name] is not None)
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
