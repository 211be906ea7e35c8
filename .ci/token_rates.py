"""Measure tokens per character of each script, for `compiler/knowledge/text/token_rates.json`.

    FTC_LLAMA_CPP_SDIST=... .ci/token_rates.py

The vocabularies are those of the llama.cpp sources, the texts those of this machine's locale files
(Debian). A script's rate is what nine of ten texts of 300 characters stay under: the tokens of a
text, less those of its characters that are Latin, per character of the script. Characters without
texts (emoji, symbols) are drawn at random.
"""

import gettext
import json
import os
import random
import tarfile
import tempfile
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import llama_cpp

from ftc.compiler.knowledge.text.tokenizers import SCRIPTS, chars_per_token, find_scripts

TABLE = Path(__file__).parents[1] / "compiler/knowledge/text/token_rates.json"
VOCABULARIES = {
    "baichuan": "baichuan", "bert": "bert-bge", "cohere": "command-r",
    "deepseek-coder": "deepseek-coder", "deepseek-llm": "deepseek-llm", "falcon": "falcon",
    "gemma3": "gemma-4", "gpt-neox": "gpt-neox", "gpt2": "gpt-2", "llama2": "llama-spm",
    "llama3": "llama-bpe", "mpt": "mpt", "qwen2": "qwen2", "qwen3.5": "qwen35",
    "starcoder": "starcoder", "xlm-roberta": "nomic-bert-moe",
}  # fmt: skip
LANGUAGES = {
    "accented": ("vi",), "greek": ("el",), "cyrillic": ("ru", "uk", "bg", "sr", "kk"),
    "armenian": ("hy",), "hebrew": ("he",), "arabic": ("ar", "fa", "ur"),
    "devanagari": ("hi", "mr", "ne"),
    "bengali": ("bn", "as"), "gurmukhi": ("pa",), "gujarati": ("gu",), "odia": ("or",),
    "tamil": ("ta",), "telugu": ("te",), "kannada": ("kn",), "malayalam": ("ml",),
    "sinhala": ("si",), "thai": ("th",), "lao": ("lo",), "tibetan": ("bo", "dz"),
    "burmese": ("my",), "georgian": ("ka",), "ethiopic": ("am",), "khmer": ("km",),
    "cjk": ("zh_CN", "zh_TW", "ja"), "hangul": ("ko",),
}  # fmt: skip
SAMPLES, CHARACTERS, LEAST, ENOUGH = 100, 300, 20, 10
Tokens = Callable[[str], int]


def main() -> None:
    """Write the table."""
    rates = {}
    with tempfile.TemporaryDirectory() as folder:
        for family, name in VOCABULARIES.items():
            count = open_vocabulary(name, Path(folder))
            rates[family] = dict(measure(family, count))
            print(family, rates[family])
    lines = ",\n".join(f'  "{name}": {json.dumps(each)}' for name, each in rates.items())
    TABLE.write_text("{\n" + lines + "\n}\n", encoding="utf-8")


def open_vocabulary(name: str, folder: Path) -> Tokens:
    """Return what counts a text's tokens with a vocabulary of the sources."""
    member = f"ggml-vocab-{name}.gguf"
    with tarfile.open(os.environ["FTC_LLAMA_CPP_SDIST"]) as archive:
        found = next(each for each in archive.getmembers() if each.name.endswith(f"/{member}"))
        source = archive.extractfile(found)
        (folder / member).write_bytes(source.read() if source is not None else b"")
    model = llama_cpp.Llama(str(folder / member), vocab_only=True, verbose=False)
    return lambda text: len(model.tokenize(text.encode(), add_bos=False, special=False))


def measure(family: str, count: Tokens) -> Iterator[tuple[str, float]]:
    """Yield each script's tokens per character, and what digits and numbers cost."""
    digits = random_numbers(30, 30)
    per_digit = max(count(text) / 30 for text in digits)
    yield "digit", round(per_digit, 3)
    numbers = random_numbers(1, 12)
    over = sum(count(f"of {text}") - count("of") - per_digit * len(text) for text in numbers)
    yield "number", round(max(0.0, over / len(numbers)), 3)
    latin = chars_per_token(family, english=False)
    for script in SCRIPTS:
        each = []
        for text in texts_of(script):
            inside = sum(map(len, find_scripts(text)[script]))
            each.append((count(text) - (len(text) - inside) / latin) / inside)
        yield script, round(sorted(each)[int(0.9 * len(each))], 3)


def random_numbers(shortest: int, longest: int) -> list[str]:
    """Draw numbers of so many digits."""
    draw = random.Random(0)  # noqa: S311 - any texts do
    lengths = [draw.randint(shortest, longest) for _ in range(SAMPLES)]
    return ["".join(draw.choices("0123456789", k=length)) for length in lengths]


@cache
def texts_of(script: str) -> list[str]:
    """Return texts of a script: of the locale files, or else of random characters."""
    draw = random.Random(0)  # noqa: S311 - any texts do
    found: list[str] = []
    for language in LANGUAGES.get(script, ()):
        messages = sorted(set(list_messages(language, script)))
        draw.shuffle(messages)
        joined = "".join(messages)[: SAMPLES * CHARACTERS]
        found += [joined[start : start + CHARACTERS] for start in range(0, len(joined), CHARACTERS)]
    found = [text for text in found if sum(map(len, find_scripts(text).get(script, ()))) >= LEAST]
    if len(found) >= ENOUGH:
        return found
    print(script, "random")
    letters = [chr(code) for first, last in SCRIPTS[script] for code in range(first, last + 1)]
    assigned = [letter for letter in letters if unicodedata.category(letter) != "Cn"]
    return ["".join(draw.choices(assigned, k=CHARACTERS)) for _ in range(SAMPLES)]


def list_messages(language: str, script: str) -> Iterator[str]:
    """Yield what the locale files say in a language, without the lines that are mostly Latin."""
    least = 0.1 if script == "accented" else 0.6
    for file in sorted(Path("/usr/share/locale", language, "LC_MESSAGES").glob("*.mo")):
        if file.name.startswith("iso_"):
            continue  # names of languages and countries are not texts
        with file.open("rb") as source:
            catalogue = gettext.GNUTranslations(source)
        for text in vars(catalogue)["_catalog"].values():
            inside = sum(map(len, find_scripts(text).get(script, ())))
            if len(text) > LEAST and inside > least * len(text):
                yield text + " "


if __name__ == "__main__":
    main()
