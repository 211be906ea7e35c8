"""The rows of each source in an epoch, and the sentence that says why."""

from collections.abc import Callable, Mapping
from typing import Any

from ftc.compiler.plan.planner import make_plan
from ftc.compiler.plan.reasons import sentence
from ftc.compiler.resolve.facts import KnownFacts
from ftc.spec.sections import Spec

BuildKnown = Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]]
PARTS = [
    {"source": "a.csv", "path": "a.csv", "usable_rows": 1000},
    {"source": "b.csv", "path": "b.csv", "sha256": "bb", "usable_rows": 200},
]


def mixed(build: BuildKnown, sources: list[Any], **edits: Any) -> Any:
    """Return the decisions of a plan on two sources."""
    base = {"/spec/data/source": None, "/spec/data/sources": sources}
    more = {f"/spec/data/{name}": value for name, value in edits.items()}
    parts = {"/facts/data/usable_rows": 1200, "/facts/data/sources": PARTS}
    return make_plan(*build({**base, **parts, **more})).decisions


def test_one_source_is_no_mixture(build_known: BuildKnown) -> None:
    """A plan without a mixture does not mention one."""
    assert make_plan(*build_known({})).decisions.splits.mixture is None


def test_without_weights_rows_are_seen_once(build_known: BuildKnown) -> None:
    """Each source gives what is left of its rows, and all add up to the training rows."""
    decided = mixed(build_known, ["a.csv", "b.csv"])

    assert decided.splits.mixture.value == {"a.csv": 800, "b.csv": 160}
    assert decided.splits.train_rows.value == 960
    assert sentence(decided.splits.mixture.because) == "every row of every source is used once"


def test_weights_repeat_the_smaller_source(build_known: BuildKnown) -> None:
    """The epoch is as long as it takes for every row to be seen."""
    weighed = [{"source": "a.csv", "weight": 2}, {"source": "b.csv", "weight": 1}]
    decided = mixed(build_known, weighed)

    assert decided.splits.mixture.value == {"a.csv": 800, "b.csv": 400}
    assert decided.splits.train_rows.value == 1200
    assert (decided.splits.validation_rows.value, decided.splits.test_rows.value) == (120, 120)


def test_repeats_have_an_end(build_known: BuildKnown) -> None:
    """Beyond what the smaller source may repeat, rows of the larger one are left out."""
    weighed = [{"source": "a.csv", "weight": 1}, {"source": "b.csv", "weight": 1, "max_repeats": 2}]
    decided = mixed(build_known, weighed)

    assert decided.splits.mixture.value == {"a.csv": 320, "b.csv": 320}
    assert "repeats a row of b.csv at most 2 times" in sentence(decided.splits.mixture.because)


def test_a_limit_of_the_whole_draws_from_all(build_known: BuildKnown) -> None:
    """`data.max_rows` leaves each source its part."""
    decided = mixed(build_known, ["a.csv", "b.csv"], max_rows=600)

    assert decided.splits.mixture.value == {"a.csv": 400, "b.csv": 80}
