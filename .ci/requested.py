"""Learn `tui/understanding/learned/requested.json` from the annotated messages of the tests.

    PYTHONPATH=. .venv/bin/python .ci/requested.py [FILE ...]

Each value that the reader finds in a message is an example. It is requested if the annotation
accepts it, and reported otherwise. The weights are those of a logistic regression with an L2
penalty. The script prints how the two bounds of `licence.py` do in ten-fold cross-validation. The
messages of a FILE are scored, but not learned from.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse
from annotated import read_entry
from scipy.optimize import minimize

from ftc.tui.questions.answers import understand
from ftc.tui.understanding import reader
from ftc.tui.understanding.reading import Change
from ftc.tui.understanding.wanted import licence, unlicensed

ROOT = Path(__file__).parents[1]
TABLES = ROOT / "tests/tui/understanding"
TARGET = ROOT / "tui/understanding/learned/requested.json"
FOLDS = 10
PENALTY = 1.0
FEWEST = 2
#: Smaller weights are not written.
SMALLEST = 0.02


@dataclass(frozen=True, slots=True)
class Example:
    """A value that the reader found: its message, features, and whether it was only told."""

    text: str
    features: frozenset[str]
    told: bool
    foreign: bool


def collect(
    text: str, is_told: Callable[[Change], bool | None], act: Callable[[], Any]
) -> list[Example]:
    """Return an example for each value that is found in a text while `act` reads it."""
    found: list[Example] = []
    original = licence.find_unlicensed

    def observe(said: str, changes: Sequence[Change], spans: Sequence[licence.Span]) -> set[str]:
        if said.strip() == text.strip():
            for each in changes:
                told = is_told(each)
                if told is not None and licence.is_examined(each.pointer):
                    features = licence.list_features(said, each, spans)
                    with mock.patch.object(licence, "report_score", return_value=-2.0):
                        foreign = each.pointer in original(said, [each], spans)
                    found.append(Example(text, features, told, foreign))
        return original(said, changes, spans)

    with (
        mock.patch.object(unlicensed, "find_unlicensed", observe),
        mock.patch.object(reader, "add_roles", lambda _, told, *__: told),
        mock.patch.object(reader, "add_worded", lambda _, __, told, *___, **____: told),
    ):
        act()
    return found


def annotated(path: Path) -> list[Example]:
    """Return the examples of a table in which each message lists what is accepted."""
    entries = json.loads(path.read_text(encoding="utf-8"))
    return [each for entry in entries for each in of_entry(entry)]


def of_entry(entry: Mapping[str, Any]) -> list[Example]:
    """Return the examples of one annotated message."""
    accept = entry.get("accept", [{}])

    def is_told(each: Change) -> bool | None:
        if any(each.value in one.get(each.pointer, ()) for one in accept):
            return False
        if each.pointer in entry.get("may", ()):
            return False
        return None if any(each.pointer in one for one in accept) else True

    return collect(entry["say"], is_told, lambda: read_entry(entry))


def of_utterance(entry: Mapping[str, Any]) -> list[Example]:
    """Return the examples of an utterance of which all changes are listed."""
    draft, asked, sets = entry.get("draft", {}), entry.get("asked"), entry.get("sets", {})
    return collect(
        entry["say"],
        lambda each: each.pointer not in sets,
        lambda: understand(entry["say"], draft, asked),
    )


def of_report(text: str) -> list[Example]:
    """Return the examples of a message that requests nothing."""
    return collect(text, lambda _: True, lambda: understand(text, {}, None))


def listed() -> Iterator[Example]:
    """Yield the examples of the tables of utterances and of reports."""
    for entry in json.loads((TABLES / "utterances.json").read_text(encoding="utf-8")):
        yield from of_utterance(entry)
    for says in json.loads((TABLES / "wanted/reports.json").read_text(encoding="utf-8")).values():
        for say in says:
            yield from of_report(say)


def learn(examples: Sequence[Example]) -> dict[str, float]:
    """Return the weights of the features that occur more than once, and the bias."""
    counted = Counter(feature for each in examples for feature in each.features)
    names = sorted(name for name, times in counted.items() if times >= FEWEST)
    column = {name: index for index, name in enumerate(names)}
    at = [(row, column[f]) for row, e in enumerate(examples) for f in e.features if f in column]
    matrix = scipy.sparse.csr_matrix(
        (np.ones(len(at)), tuple(zip(*at, strict=True))), shape=(len(examples), len(names))
    )
    told = np.array([each.told for each in examples], dtype=float)

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        odds = matrix @ weights[:-1] + weights[-1]
        error = 1 / (1 + np.exp(-odds)) - told
        slope = np.append(matrix.T @ error + PENALTY * weights[:-1], error.sum())
        penalty = 0.5 * PENALTY * float(weights[:-1] @ weights[:-1])
        return float(np.sum(np.logaddexp(0, odds) - told * odds)) + penalty, slope

    found = minimize(loss, np.zeros(len(names) + 1), jac=True, method="L-BFGS-B").x
    learned = dict(zip(names, found[:-1].tolist(), strict=True))
    return {"": float(found[-1]), **learned}


def score(weights: Mapping[str, float], example: Example) -> float:
    """Return the log-odds that a value was only told."""
    return weights[""] + sum(weights.get(feature, 0.0) for feature in example.features)


def show(name: str, pairs: Sequence[tuple[Example, float]]) -> None:
    """Print what the two bounds do to examples with their scores."""
    asked, told = licence.SURELY_ASKED, licence.SURELY_TOLD
    foreign = [(each, odds) for each, odds in pairs if each.foreign]
    known = [(each, odds) for each, odds in pairs if not each.foreign]
    for wanted, label in ((False, "requested"), (True, "told")):
        below = [odds < asked for each, odds in foreign if each.told is wanted]
        above = [odds > told for each, odds in known if each.told is wanted]
        print(
            f"{name}: {label}: beside unknown words {sum(below)} of {len(below)} are set;"
            f" beside known words {sum(above)} of {len(above)} are asked about"
        )


def validate(examples: Sequence[Example]) -> None:
    """Print what the bounds do to messages that took no part in the learning."""
    texts = sorted({each.text for each in examples})
    np.random.default_rng(0).shuffle(texts)
    fold = {text: index % FOLDS for index, text in enumerate(texts)}
    pairs: list[tuple[Example, float]] = []
    for index in range(FOLDS):
        weights = learn([each for each in examples if fold[each.text] != index])
        held = [each for each in examples if fold[each.text] == index]
        pairs += [(each, score(weights, each)) for each in held]
    show("held out", pairs)


def main(paths: Sequence[str]) -> None:
    """Learn, validate and write the weights."""
    tables = [annotated(TABLES / name) for name in ("annotated.json", "learned_from.json")]
    examples = [*tables[0], *tables[1], *listed()]
    others = {path: annotated(Path(path)) for path in paths}
    validate(examples)
    weights = learn(examples)
    kept = {k: round(v, 2) for k, v in sorted(weights.items()) if not k or abs(v) >= SMALLEST}
    for path, found in others.items():
        show(path, [(each, score(kept, each)) for each in found])
    lines = ",\n".join(f"{json.dumps(k)}: {v}" for k, v in kept.items())
    TARGET.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    print(f"{len(examples)} examples, {len(kept)} weights of {len(weights)}")


if __name__ == "__main__":
    main(sys.argv[1:])
