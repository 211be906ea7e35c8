"""Learn `tui/understanding/learned/linked.json` from the annotated messages of the tests.

    PYTHONPATH=. .venv/bin/python .ci/linked.py [--only MODEL ...] [--without FILE ...]

It holds linear models: the field of a number, whether a withheld value is requested, the field that
a message is about, the value that a clause sets, and the role of a column. Each is a multinomial
logistic regression with an L2 penalty. With `--only`, the other models stay as they are. The
messages of a FILE take no part in the learning.
"""

import argparse
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse
from annotated import COLUMNS, find_columns, find_draft, read_entry
from scipy.optimize import minimize

from ftc.tui.understanding import reader
from ftc.tui.understanding.learned import likely, roles, worded
from ftc.tui.understanding.learned.linear import NONE, Fit, Model
from ftc.tui.understanding.learned.linked import find_numbers
from ftc.tui.understanding.reading import Change, Choice
from ftc.tui.understanding.text.message import Message
from ftc.tui.understanding.wanted import released
from ftc.tui.understanding.wanted.evidence import find_evidence

ROOT = Path(__file__).parents[1]
TABLES = ROOT / "tests/tui/understanding"
TARGET = ROOT / "tui/understanding/learned/linked.json"
FEWEST = 2
#: How many copies of a message are made with other column names.
COPIES = 4
#: How many times an example of the reader counts for the withheld values.
TIMES = 3
#: Smaller weights are not written.
SMALLEST = 0.05
PENALTIES = {"numbers": 0.2, "withheld": 3.0, "fields": 1.0, "values": 1.0, "roles": 0.15}
#: How often the clauses of values are chosen again, with the weights learned so far.
ROUNDS = 1
Table = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Example:
    """A training example: its features, the fit of each option, and the correct options."""

    features: Sequence[str]
    options: Mapping[str, Fit]
    right: frozenset[str]


@dataclass(frozen=True, slots=True)
class Annotated:
    """A message with its draft, what may be set, and what may be asked; `entry` is its row."""

    text: str
    draft: Mapping[str, Any]
    accept: Sequence[Mapping[str, Sequence[Any]]]
    ask: frozenset[str]
    entry: Mapping[str, Any] | None

    def accepts(self, pointer: str, value: object) -> bool:
        """Return whether a value of a field is right."""
        return any(value in one.get(pointer, ()) for one in self.accept)


def read_annotated(without: set[str]) -> Iterator[Annotated]:
    """Yield the messages of the tables."""
    for name in ("annotated.json", "learned_from.json"):
        yield from _read_table(name, without)
    for row in json.loads((TABLES / "utterances.json").read_text(encoding="utf-8")):
        if "sets" in row:
            accept = [{at: [value] for at, value in row["sets"].items()}]
            yield Annotated(row["say"], row.get("draft", {}), accept, frozenset(), None)
    for says in json.loads((TABLES / "wanted/reports.json").read_text(encoding="utf-8")).values():
        for say in says:
            yield Annotated(say, {}, [{}], frozenset(), {"draft": "empty", "say": say})


def _read_table(name: str, without: set[str]) -> Iterator[Annotated]:
    for row in json.loads((TABLES / name).read_text(encoding="utf-8")):
        if row["say"] not in without:
            draft, ask = find_draft(row), frozenset(row.get("ask", ()))
            yield Annotated(row["say"], draft, row.get("accept", [{}]), ask, row)


def _read_everyday(without: set[str]) -> Iterator[Annotated]:
    for row in json.loads((TABLES / "everyday.json").read_text(encoding="utf-8")):
        if row["say"] not in without:
            accept = [{at: [value] for at, value in row["sets"].items()}]
            yield Annotated(row["say"], find_draft(row), accept, frozenset(), row)


def of_values(
    said: Sequence[Annotated], clauses: Sequence[Sequence[worded.Clause]], model: Model | None
) -> Iterator[Example]:
    """Yield an example for each clause of the messages: the values that it sets, or none.

    A value is that of the clause in which it fits best, or is likeliest by an earlier model.
    """
    for each, parts in zip(said, clauses, strict=True):
        right = {key for key in worded.list_keys() if _accepts(each, key)}
        own: dict[int, set[str]] = defaultdict(set)
        for key in sorted(right):
            odds = [_weigh(part, key, model) for part in parts if key in part.fits]
            if odds:
                places = [at for at, part in enumerate(parts) if key in part.fits]
                own[places[odds.index(max(odds))]].add(key)
        may = set() if each.entry is None else set(each.entry.get("may", ()))
        for at, part in enumerate(parts):
            fits = {
                key: fit
                for key, fit in part.fits.items()
                if key in own[at] or worded.find_option(key).field.pointer not in may
            }
            yield Example(part.features, fits, frozenset(own[at] or {NONE}))


def _accepts(said: Annotated, key: str) -> bool:
    option = worded.find_option(key)
    return said.accepts(option.field.pointer, option.value)


def _weigh(clause: worded.Clause, key: str, model: Model | None) -> float:
    fit = clause.fits[key]
    if model is None:
        return fit.get("name", 0.0) + 2 * fit.get("value", 0.0) + fit.get("described", 0.0) / 2
    weights = (dict(model.weights_of(each)).get(key, 0.0) for each in clause.features)
    return sum(weights) + sum(model.fits[name] * value for name, value in fit.items())


def learn_values(said: Sequence[Annotated]) -> Table:
    """Return the weights of values; which clause sets each value is learned as well."""
    clauses = [worded.find_clauses(Message(each.text), each.draft) for each in said]
    table: Table = learn([*of_values(said, clauses, None)], PENALTIES["values"])
    for _ in range(ROUNDS):
        examples = [*of_values(said, clauses, Model(**table))]
        table = learn(examples, PENALTIES["values"])
    return table


def of_roles(said: Sequence[Annotated]) -> Iterator[Example]:
    """Yield the examples of messages and of their copies with other names of columns.

    A name tells little of its role, and the words around it tell the same of other names.
    """
    pool = sorted({name for each in said for name in _columns(each) if name not in COLUMNS})
    chosen = random.Random(0)  # noqa: S311 - the same copies at every run
    for each in said:
        yield from _roles_of(each)
        names = [name for name in sorted(_columns(each)) if each.text.count(name) == 1]
        for _ in range(COPIES if names else 0):
            yield from _roles_of(
                _renamed(each, dict(zip(names, chosen.sample(pool, len(names)), strict=True)))
            )


def _columns(said: Annotated) -> set[str]:
    return {
        value
        for one in said.accept
        for at, values in one.items()
        if at.startswith(roles.SECTION)
        for value in values
        if isinstance(value, str)
    }


def _renamed(said: Annotated, names: Mapping[str, str]) -> Annotated:
    """Return a message with other names of columns."""
    pattern = re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))))
    accept = [
        {
            at: [names.get(value, value) if isinstance(value, str) else value for value in values]
            for at, values in one.items()
        }
        for one in said.accept
    ]
    text = pattern.sub(lambda match: names[match[0]], said.text)
    return replace(said, text=text, accept=accept)


def _roles_of(said: Annotated) -> Iterator[Example]:
    """Yield an example for each text of a message that may name a column: its role, or none.

    If several pairs of roles are accepted, prompt and completion are the right ones.
    """
    accepted = [
        {at: values for at, values in one.items() if at.startswith(roles.SECTION)}
        for one in said.accept
    ]
    usual = [one for one in accepted if f"{roles.SECTION}prompt" in one]
    right: dict[object, set[str]] = defaultdict(set)
    for at, values in (usual or [one for one in accepted if one] or [{}])[0].items():
        for value in values:
            right[value].add(at)
    may = said.entry is not None and any(
        at.startswith(roles.SECTION) for at in said.entry.get("may", ())
    )
    for name in roles.find_names(said.text, find_columns(said.text, said.draft)):
        if not may or name.text in right:
            yield Example(name.features, name.fits, frozenset(right[name.text] or {NONE}))


def of_numbers(said: Annotated) -> Iterator[Example]:
    """Yield an example for each number of a message: its fields, or none."""
    for number in find_numbers(Message(said.text), said.draft):
        right = {at for at, value in number.values.items() if said.accepts(at, value)}
        yield Example(number.features, number.fits, frozenset(right or {NONE}))


def of_fields(said: Annotated) -> Iterator[Example]:
    """Yield the example of a message: the fields that it is about."""
    words = likely.find_words(said.text)
    fits = likely.find_fits(words)
    right = (said.ask | {at for one in said.accept for at in one}) & fits.keys()
    yield Example(likely.list_features(words), fits, right or frozenset({NONE}))


def of_withheld(said: Annotated) -> Iterator[Example]:
    """Yield an example for each value that the patterns find, whether they withhold it or not."""
    if said.entry is None:
        return
    found: list[tuple[str, Sequence[Change | Choice]]] = []

    def observe(
        _: Message, text: str, told: Sequence[Change | Choice], __: Mapping[str, Any]
    ) -> list[Change | Choice]:
        found.append((text, told))
        return list(told)

    with (
        mock.patch.object(reader, "read_linked", return_value=()),
        mock.patch.object(reader, "release", observe),
        mock.patch.object(reader, "add_roles", lambda _, told, *__: told),
        mock.patch.object(reader, "add_worded", lambda _, __, told, *___, **____: told),
    ):
        read_entry(said.entry)
    for text, told in found[-1:]:
        for each in told:
            if isinstance(each, Choice) and not released.is_withheld(each):
                continue
            value = each.value if isinstance(each, Change) else each.values[0]
            right = said.accepts(each.pointer, value)
            if not right and each.pointer in said.entry.get("may", ()):
                continue
            signs = sorted(find_evidence(text, each, told))
            known = frozenset({released.REQUESTED if right else NONE})
            yield Example(signs, {released.REQUESTED: {}}, known)


def learn(examples: Sequence[Example], penalty: float) -> Table:
    """Return the weights of the features of a model, and those of the fits."""
    names, fits = _list_weights(examples)
    columns = {name: at for at, name in enumerate([*names, *((name, None) for name in fits)])}
    matrix, owner, right = _encode(examples, columns)
    starts = np.searchsorted(owner, np.arange(len(examples)))

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        odds = matrix @ weights
        shares = np.exp(odds - np.maximum.reduceat(odds, starts)[owner])
        whole = np.add.reduceat(shares, starts)
        good = np.maximum(np.add.reduceat(shares * right, starts), 1e-300)
        slope = matrix.T @ (shares / whole[owner] - shares * right / good[owner])
        value = float(np.sum(np.log(whole) - np.log(good)))
        return value + 0.5 * penalty * float(weights @ weights), slope + penalty * weights

    start = np.zeros(len(columns))
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 200}).x
    return _tabulate(columns, found.tolist())


def _list_weights(examples: Sequence[Example]) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the features with an option that they have been right for, and the names of fits."""
    times = Counter(feature for each in examples for feature in each.features)
    names = {
        (feature, option)
        for each in examples
        for feature in each.features
        if times[feature] >= FEWEST
        for option in (each.right if len(each.options) > 1 else each.options)
    }
    fits = {name for each in examples for fit in each.options.values() for name in fit}
    return sorted(names), sorted(fits)


def _encode(
    examples: Sequence[Example], columns: Mapping[tuple[str, str | None], int]
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return a row for each option of each example, its example, and whether it is right."""
    options_of: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for (feature, option), column in columns.items():
        if option is not None:
            options_of[feature].append((option, column))
    rows: list[tuple[int, int, float]] = []
    owner: list[int] = []
    right: list[bool] = []
    for index, each in enumerate(examples):
        options = [NONE, *each.options]
        place = {option: len(owner) + at for at, option in enumerate(options)}
        for feature in each.features:
            rows += [
                (place[option], column, 1.0)
                for option, column in options_of.get(feature, ())
                if option in place
            ]
        for option, fit in each.options.items():
            rows += [(place[option], columns[name, None], value) for name, value in fit.items()]
        owner += [index] * len(options)
        right += [option in each.right for option in options]
    at, column, value = zip(*rows, strict=True)
    matrix = scipy.sparse.csr_matrix((value, (at, column)), shape=(len(owner), len(columns)))
    return matrix, np.array(owner), np.array(right, dtype=float)


def _tabulate(
    columns: Mapping[tuple[str, str | None], int], weights: Sequence[float]
) -> dict[str, Any]:
    options = sorted({option for _, option in columns if option is not None})
    index = {option: at for at, option in enumerate(options)}
    features: dict[str, list[int]] = defaultdict(list)
    fits: dict[str, float] = {}
    for (name, option), column in columns.items():
        weight = weights[column]
        if option is None:
            fits[name] = round(weight, 2)
        elif abs(weight) >= SMALLEST:
            features[name] += [index[option], round(100 * weight)]
    return {"options": options, "fits": fits, "features": dict(features)}


def learn_all(without: set[str], only: Container[str] = PENALTIES) -> dict[str, Table]:
    """Learn the models of some names, leaving out the messages of some files, and return them.

    Withheld values are also learned from the examples of the reader, and from the messages that
    writers made without sight of it, after these had been measured.
    """
    said = list(read_annotated(without))
    cases: Mapping[str, Callable[[], list[Example]]] = {
        "numbers": lambda: [one for each in said for one in of_numbers(each)],
        "withheld": lambda: (
            [
                one
                for each in (*said, *_read_table("once_unseen.json", without))
                for one in of_withheld(each)
            ]
            + TIMES * [one for each in _read_everyday(without) for one in of_withheld(each)]
        ),
        "fields": lambda: [one for each in said for one in of_fields(each)],
        "roles": lambda: [*of_roles(said)],
    }
    tables = {name: learn(make(), PENALTIES[name]) for name, make in cases.items() if name in only}
    return tables | ({"values": learn_values(said)} if "values" in only else {})


def write(tables: Mapping[str, Table]) -> str:
    """Return the text of the models, one feature a line."""
    parts = []
    for name, table in tables.items():
        lines = ",\n".join(
            f"{json.dumps(key)}: {json.dumps(each, separators=(',', ':'))}"
            for key, each in table["features"].items()
        )
        options, fits = json.dumps(table["options"]), json.dumps(table["fits"])
        head = f'"options": {options},\n"fits": {fits}'
        parts.append(f'"{name}": {{\n{head},\n"features": {{\n{lines}\n}}}}')
    return "{" + ",\n".join(parts) + "}\n"


def main() -> None:
    """Learn and write the models."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", choices=PENALTIES, default=PENALTIES)
    parser.add_argument("--without", nargs="*", default=())
    chosen = parser.parse_args()
    paths = map(Path, chosen.without)
    rows = [row for path in paths for row in json.loads(path.read_text(encoding="utf-8"))]
    tables = learn_all({row["say"] for row in rows}, chosen.only)
    written = json.loads(TARGET.read_text(encoding="utf-8"))
    TARGET.write_text(write(written | tables), encoding="utf-8")
    for name, table in tables.items():
        print(f"{name}: {len(table['features'])} features, fits {table['fits']}")


if __name__ == "__main__":
    main()
