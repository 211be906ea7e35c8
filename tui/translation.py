"""Translation: what findings and decisions say in English, said in the assistant's language."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from string import Formatter
from typing import Any, Final, Literal

from ftc.compiler.plan.decision import Because
from ftc.compiler.plan.reasons import sentence, shown_values
from ftc.spec.finding import EnvironmentFailure, Finding
from ftc.tui.voice import Language, Voice

Part = Literal["message", "help"]
Template = Mapping[Language, str]
#: Values whose name starts so are English themselves, and are looked up among the phrases.
SAID: Final = "say_"
#: Values whose name ends so are never respelt: 7.5 is no decimal number there.
_KEPT: Final = "version"
_ANY: Final = r"(?P<{name}>.+?)"
_WORDS: Final = r"(?P<{name}>(?:[^`]|`[^`]*`)+?)"  # backticks close where they are opened
_NUMBER: Final = re.compile(r"[+-]?\d[\d,]*(\.\d+)?( ?(%|GiB|MiB|B|M|k|nats))?")
_RESPELT: Final = str.maketrans(",.", ".,")


def translate(finding: Finding, voice: Voice) -> Finding:
    """Return the finding with message and help in the voice's language.

    What no template of its code matches stays in English.
    """
    if voice.language == "en":
        return finding
    return replace(
        finding,
        message=_say(finding.code, "message", finding.message, voice.language),
        help=_say(finding.code, "help", finding.help, voice.language),
    )


def tell(finding: Finding, voice: Voice) -> str:
    """Return the finding as one line in the voice's language: severity, code and message."""
    told = translate(finding, voice)
    return f"{voice.say(f'severity.{told.severity}')}[{told.code}] {told.message}"


def tell_with_help(finding: Finding, voice: Voice) -> str:
    """Return the finding's line, and below it what to do about it."""
    return f"{tell(finding, voice)}\n{translate(finding, voice).help}"


def tell_failure(failure: EnvironmentFailure, voice: Voice) -> str:
    """Return what failed, and below it what to do about it."""
    language = voice.language
    message = _say("failure", "message", failure.message, language)
    return f"{message}\n{_say('failure', 'help', failure.help, language)}"


def give_reason(because: Because, voice: Voice) -> str:
    """Return a decision's reason as one line without a final period."""
    if voice.language == "en":
        return sentence(because)
    values = shown_values(because)
    said = {name: respell(value, voice.language) for name, value in values.items()}
    return read_reasons()[because.key][voice.language].format(**said)


def match(code: str, part: Part, text: str) -> bool:
    """Tell whether a text has a template: whether it is said in every language."""
    return any(_pattern(template["en"]).fullmatch(text) for template in _templates(code, part))


def respell(value: str, language: Language) -> str:
    """Return a number of an English text as the language writes it; other text as it is."""
    if language == "en" or _NUMBER.fullmatch(value) is None:
        return value
    return value.translate(_RESPELT)


def placeholders(template: str) -> list[str]:
    """Return the names of the values in a template."""
    return [name for _, name, _, _ in Formatter().parse(template) if name is not None]


@cache
def read_findings() -> Mapping[str, Mapping[Part, Sequence[Template]]]:
    """Return the templates of messages and helps by code; `failure` has those without a code."""
    catalogue: Mapping[str, Mapping[Part, Sequence[Template]]] = _read("findings")
    return catalogue


@cache
def read_phrases() -> Sequence[Template]:
    """Return the templates of values that are words, the particular before the general."""
    catalogue: Sequence[Template] = _read("phrases")
    return catalogue


@cache
def read_reasons() -> Mapping[str, Template]:
    """Return the sentences of decisions' reasons by key."""
    catalogue: Mapping[str, Template] = _read("reasons")
    return catalogue


def _read(name: str) -> Any:
    path = files("ftc.tui") / "catalogue" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def _say(code: str, part: Part, text: str, language: Language) -> str:
    return _refill(_templates(code, part), text, language) or text


def _templates(code: str, part: Part) -> Sequence[Template]:
    parts = read_findings().get(code)
    return () if parts is None else parts[part]


def _refill(templates: Sequence[Template], text: str, language: Language) -> str | None:
    """Return the text by the first template that matches it; None where none does."""
    for template in templates:
        if found := _pattern(template["en"]).fullmatch(text):
            quoted = _quoted(template["en"])
            values = {
                name: value if name in quoted else _value(name, value, language)
                for name, value in found.groupdict().items()
            }
            return template[language].format(**values)
    return None


def _value(name: str, value: str, language: Language) -> str:
    if name.startswith(SAID):
        said = _refill(read_phrases(), value, language)
        return respell(value, language) if said is None else said
    return value if name.endswith(_KEPT) else respell(value, language)


@cache
def _pattern(template: str) -> re.Pattern[str]:
    """Return what matches every text that the template makes, its values as named groups."""
    pattern, seen = "", set[str]()
    for literal, name, _, _ in Formatter().parse(template):
        pattern += re.escape(literal)
        if name is None:
            continue
        kind = f"(?P={name})" if name in seen else _WORDS if name.startswith(SAID) else _ANY
        pattern += kind.replace("{name}", name)
        seen.add(name)
    return re.compile(pattern, re.DOTALL)


@cache
def _quoted(template: str) -> frozenset[str]:
    """Return the values that stand in backticks, which are shown as they are written."""
    names, ticks = set[str](), 0
    for literal, name, _, _ in Formatter().parse(template):
        ticks += literal.count("`")
        if name is not None and ticks % 2:
            names.add(name)
    return frozenset(names)
