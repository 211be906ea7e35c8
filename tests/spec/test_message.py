"""Messages: how values are shown, and three catalogues with the same keys and values."""

import ast
import errno
import importlib
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import Any, Final

import pytest

from ftc.explanations import EXPLANATIONS
from ftc.spec.findings.explanation import Explanation
from ftc.spec.message import Language, Message, read_messages, reason_of, show

ROOT: Final = Path(__file__).resolve().parents[2]
OTHERS: Final[tuple[Language, ...]] = ("ca", "es")
ENGLISH: Final = read_messages("en")
SOURCES: Final = sorted(
    path for folder in ("spec", "compiler", "tui", "cli") for path in (ROOT / folder).rglob("*.py")
)


def placeholders(template: str) -> frozenset[str]:
    """Return the names of the values in a template."""
    return frozenset(name for _, name, _, _ in Formatter().parse(template) if name is not None)


@pytest.mark.parametrize(
    ("value", "spec", "english", "catalan"),
    [
        (1234567, ",", "1,234,567", "1.234.567"),
        (0.125, ".1%", "12.5%", "12,5 %"),
        (2.5, "g", "2.5", "2,5"),
        (3 * 2**30 // 2, "gib", "1.5 GiB", "1,5 GiB"),
        (2000 * 2**20, "mib", "2,000 MiB", "2.000 MiB"),
        (7_600_000_000, "count", "7.6B", "7,6B"),
        (135_000_000, "count", "135M", "135M"),
        (2.4987, "times", "2.5", "2,5"),
        (2e5, "times", "200,000", "200.000"),
        (1, "row|rows", "row", "row"),
        (2, "row|rows", "rows", "rows"),
        (Message("phrase.about", {"number": 1}), "row|rows", "row", "row"),
        (Message("phrase.about", {"number": 2}), "row|rows", "rows", "rows"),
        ("7.5", "", "7.5", "7.5"),
        (("a", "b", "c"), "", "a, b, c", "a, b, c"),
        (("a", "b", "c"), "`", "`a`, `b`, `c`", "`a`, `b`, `c`"),
        (("a", "b", "c"), "`or", "`a`, `b` or `c`", "`a`, `b` o `c`"),
        (("a", "b"), "and", "a and b", "a i b"),
        (("a",), "and", "a", "a"),
        ((), "and", "", ""),
        (("a", "b"), ";", "a; b", "a; b"),
        ((Message("split.test"), "b"), "", "test, b", "de test, b"),
        (Message("phrase.about", {"number": 1000}), ",", "about 1,000", "al voltant de 1.000"),
    ],
)
def test_values_are_shown_by_the_language(
    value: Any, spec: str, english: str, catalan: str
) -> None:
    """Numbers and lists follow the language; other text is not changed."""
    assert show(value, spec, "en") == english
    assert show(value, spec, "ca") == catalan


def test_what_stands_in_backticks_is_not_respelt() -> None:
    """A number in backticks is shown as it is written in a file."""
    assert show(0.5, "g", "es", quoted=True) == "0.5"
    message = Message("unsupported./export/merge")
    assert str(message) != message.render("es")


def test_unknown_keys_and_values_are_errors() -> None:
    """A message without its sentence, or without a value of it, does not go unnoticed."""
    with pytest.raises(KeyError):
        str(Message("FTC999.message"))
    with pytest.raises(KeyError):
        str(Message("FTC004.message"))
    braces = Message("FTC001.message", {"name": "{0}.json"})
    assert braces.render("ca") == "no hi ha cap fitxer `{0}.json`"


def test_why_the_system_refused() -> None:
    """A known reason is a message; another stays in English."""
    assert reason_of(OSError(errno.EACCES, "Permission denied")) == Message("os.EACCES")
    assert reason_of(OSError(errno.ELOOP, "Too Many Links")) == "too many links"


@pytest.mark.parametrize("language", OTHERS)
def test_catalogues_have_the_same_keys_and_values(language: Language) -> None:
    """Every sentence is in every language, with the same values; keys are sorted."""
    other = read_messages(language)
    assert list(other) == list(ENGLISH) == sorted(ENGLISH)
    for key, template in ENGLISH.items():
        assert placeholders(other[key]) == placeholders(template), key


def test_every_code_has_a_message_and_a_help() -> None:
    """No code is left out, and there is none that does not exist."""
    codes = {page.code for page in EXPLANATIONS}
    for part in ("message", "help"):
        found = {key.split(".")[0] for key in ENGLISH if key.split(".")[1:2] == [part]}
        assert found - {"failure"} == codes


def test_sentences_are_of_one_style() -> None:
    """They start small, end without a period and are printable."""
    for language in ("en", *OTHERS):
        for key, template in read_messages(language).items():
            assert template.isprintable(), key
            assert not template.rstrip("`").endswith("."), key


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_messages_in_the_source_have_their_sentences(path: Path) -> None:
    """Every call that names its sentence names one that exists, and gives all of its values."""
    for line, key, values in _uses(path):
        assert key in ENGLISH, f"line {line}"
        assert placeholders(ENGLISH[key]) <= values, f"line {line}: {key}"


def _uses(path: Path) -> Iterator[tuple[int, str, frozenset[str]]]:
    for top in ast.parse(path.read_text(encoding="utf-8")).body:
        for node in ast.walk(top):
            if not isinstance(node, ast.Call) or any(word.arg is None for word in node.keywords):
                continue
            name = ast.unparse(node.func)
            given = {word.arg or "": word.value for word in node.keywords}
            if name == "Message" and isinstance(node.args[0], ast.Constant):
                values = node.args[1] if len(node.args) > 1 else ast.Dict([], [])
                if isinstance(values, ast.Dict):
                    keys = (key.value for key in values.keys if isinstance(key, ast.Constant))
                    yield node.lineno, str(node.args[0].value), frozenset(map(str, keys))
                continue
            code = _code(path, top, node, name)
            for part in ("message", "help") if code else ():
                for variant in _variants(given.get(part)):
                    key = f"{code}.{part}.{variant}".rstrip(".")
                    yield node.lineno, key, frozenset(given)


def _code(path: Path, top: ast.stmt, call: ast.Call, name: str) -> str | None:
    """Return the code of the finding that a call makes; None where the source does not show it."""
    if name == "problem" and isinstance(top, ast.FunctionDef):
        rules = [each for each in top.decorator_list if isinstance(each, ast.Call)]
        return ast.literal_eval(rules[0].args[0]) if rules else None
    stem = name.removesuffix(".finding")
    if name.endswith((".problems.add", ".problems.stop")):
        stem = ast.unparse(call.args[0])
    elif stem == name:
        return None
    found: Any = importlib.import_module(_module(path))
    for attribute in stem.split("."):
        found = getattr(found, attribute, None)
    return found.code if isinstance(found, Explanation) else None


def _module(path: Path) -> str:
    relative = path.relative_to(ROOT).with_suffix("")
    parts = relative.parts[1:] if relative.parts[0] == "cli" else relative.parts
    return ".".join(("ftc", *parts)).removesuffix(".__init__")


def _variants(node: ast.expr | None) -> tuple[str, ...]:
    """Return the variants that an argument can name, () where the source does not show them."""
    match node:
        case None:
            return ("",)
        case ast.Constant(value=str(text)):
            return (text,)
        case ast.IfExp(body=body, orelse=orelse):
            return (*_variants(body), *_variants(orelse))
        case _:
            return ()
