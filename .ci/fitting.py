"""Fit the sides of tensors as sums of products of config keys."""

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

__all__ = ["fit"]

_MOST_TERMS = 4
_MOST_FACTORS = 2
_MOST_PARTS = 8
_MOST_TIMES = 64

_Term = tuple[tuple[str, ...], tuple[str, ...]]
_Columns = Mapping[_Term, Sequence[Fraction]]


def fit(
    samples: Sequence[tuple[Mapping[str, Any], int]], keys: Sequence[str], *, constant: bool = False
) -> str | None:
    """Return the shortest sum of products of keys that gives every sample's side.

    With `constant` a number by itself may be one of the terms.
    """
    values = [side for _, side in samples]
    if len(set(values)) == 1:
        return str(values[0])
    usable = [k for k in keys if all(type(g.get(k)) is int and g[k] > 0 for g, _ in samples)]
    first = samples[0][0]
    moved = [k for k in usable if _moves(samples, k, first)] or usable
    products = [c for n in (1, 2, 3) for c in itertools.combinations(moved, n)]
    terms: list[_Term] = [(p, ()) for p in (*products, *((key, key) for key in moved))]
    terms += [
        (tuple(k for k in p if k != d) or (), (d,)) for p in products if len(p) > 1 for d in p
    ]
    terms += [((), ())] if constant else []
    columns = {t: [Fraction(prod(g[k] for k in t[0]), prod(g[k] for k in t[1])) for g, _ in samples]
               for t in terms}  # fmt: skip
    singles = sorted(terms, key=lambda t: (len(t[1]), len(t[0])))
    for term in singles:
        ratio = {Fraction(v) / x for v, x in zip(values, columns[term], strict=True)}
        if len(ratio) == 1 and _plain(found := ratio.pop()):
            return _spell([(found, term)])
    whole = [t for t in terms if not t[1] and len(t[0]) <= _MOST_FACTORS]
    quotients = [t for t in singles if len(t[1]) == 1 and 0 < len(t[0]) <= _MOST_FACTORS]
    text = _sum(values, columns, whole, _MOST_TERMS)
    return text or _sum(values, columns, whole + quotients, 2)


def _sum(values: Sequence[int], columns: _Columns, whole: Sequence[_Term], most: int) -> str | None:
    """Return the shortest sum of these terms, so many at most, that gives every sample's side."""
    wanted = np.array(values, dtype=float)
    matrix = {t: np.array([float(x) for x in columns[t]]) for t in whole}
    for count in range(2, most + 1):
        if count == _MOST_TERMS:
            whole = whole[:16]
        for chosen in itertools.combinations(whole, count):
            stacked = np.stack([matrix[t] for t in chosen], axis=1)
            solved, *_ = np.linalg.lstsq(stacked, wanted, rcond=None)
            if not np.allclose(stacked @ solved, wanted, rtol=0, atol=1e-3):
                continue
            rounded = [Fraction(float(s)).limit_denominator(_MOST_PARTS) for s in solved]
            exact = [
                sum(c * columns[t][n] for c, t in zip(rounded, chosen, strict=True))
                for n in range(len(values))
            ]
            if exact == values and all(_plain(c) and c > 0 for c in rounded):
                return _spell(list(zip(rounded, chosen, strict=True)))
    return None


def _moves(
    samples: Sequence[tuple[Mapping[str, Any], int]], key: str, first: Mapping[str, Any]
) -> bool:
    """Return whether the side changes where this key does, alone or with one other key."""
    base = next(side for given, side in samples if given == first)
    for given, side in samples:
        changed = [k for k in given if given[k] != first.get(k)]
        if key in changed and side != base:
            alone = all(
                other == base
                for g, other in samples
                if [k for k in g if g[k] != first.get(k)] == [c for c in changed if c != key]
            )
            if len(changed) == 1 or alone:
                return True
    return False


def _plain(value: Fraction) -> bool:
    return value.denominator <= _MOST_PARTS and 0 < abs(value.numerator) <= _MOST_TIMES


def _spell(terms: Sequence[tuple[Fraction, _Term]]) -> str:
    """Spell a sum as `2*a*b+c*d/e`."""
    words = []
    for factor, (above, below) in terms:
        number = [str(factor.numerator)] if factor.numerator != 1 or not above else []
        under = [*([str(factor.denominator)] if factor.denominator != 1 else []), *below]
        words.append("*".join([*number, *above]) + "".join(f"/{w}" for w in under))
    return "+".join(words)
