"""Metrics: the numbers are those of scipy and scikit-learn, the verdicts hold."""

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import f1_score, precision_recall_fscore_support, roc_auc_score

from ftc.runtime.evaluate import feedback
from ftc.runtime.metric import label_metrics, metrics

LABELS = ("lost", "late", "sent", "broken")


def draw_labels(seed: int, rows: int, accuracy: float) -> tuple[list[str], list[str]]:
    """Return right labels, and what a model of this accuracy says."""
    draw = np.random.default_rng(seed)
    right = draw.choice(LABELS, rows, p=[0.6, 0.2, 0.15, 0.05]).tolist()
    said = [
        label if draw.random() < accuracy else str(draw.choice([*LABELS, "no label"]))
        for label in right
    ]
    return said, right


@pytest.mark.parametrize(("hits", "rows"), [(0, 1), (0, 30), (7, 30), (30, 30), (242, 308)])
def test_wilson_is_that_of_scipy(hits: int, rows: int) -> None:
    """Also where nothing is right, and where everything is."""
    found = stats.binomtest(hits, rows).proportion_ci(method="wilson")

    assert metrics.wilson(hits / rows, rows) == pytest.approx([found.low, found.high], abs=1e-9)


@pytest.mark.parametrize("freedom", [5, 9, 30, 400])
def test_quantiles_of_t_are_those_of_scipy(freedom: int) -> None:
    """To 1 in 500 from the fewest rows on that get an interval."""
    assert metrics.t_quantile(0.975, freedom) == pytest.approx(
        stats.t.ppf(0.975, freedom), rel=2e-3
    )


def test_macro_f1_is_that_of_scikit_learn() -> None:
    """Only labels of the rows count, not other answers; the numbers of each label agree too."""
    said, right = draw_labels(1, 200, 0.6)
    found = {entry["label"]: entry for entry in label_metrics.by_label(said, right)}
    parts = precision_recall_fscore_support(right, said, labels=LABELS, zero_division=0.0)

    assert label_metrics.macro_f1(said, right).value == pytest.approx(
        f1_score(right, said, labels=LABELS, average="macro", zero_division=0.0)
    )
    for place, label in enumerate(LABELS):
        entry = found[label]
        assert (entry["precision"] or 0, entry["recall"], entry["f1"], entry["support"]) == (
            pytest.approx(tuple(float(part[place]) for part in parts))
        )
    scores = [entry["f1"] for entry in label_metrics.by_label(said, right)]
    assert scores == sorted(scores)


@pytest.mark.parametrize("first", ["accuracy", "macro_f1"])
def test_labels_have_both_numbers(first: str) -> None:
    """The metric of the run decides the verdict, so it comes first; neither is left out."""
    found = label_metrics.measure(["a", "a", "b", "a"], ["a", "b", "b", "a"], first=first)

    assert next(iter(found)) == first
    assert {name: one.value for name, one in found.items()} == pytest.approx(
        {"accuracy": 0.75, "macro_f1": (0.8 + 2 / 3) / 2}
    )


def test_a_label_that_is_never_said_has_no_precision() -> None:
    """It is none, not zero; and it comes first."""
    first, second = label_metrics.by_label(["late", "late", "late"], ["late", "lost", "late"])

    assert first == {"label": "lost", "precision": None, "recall": 0, "f1": 0, "support": 1}
    assert second["precision"] == pytest.approx(2 / 3)


def test_pairs_are_told_apart_as_scikit_learn_counts() -> None:
    """Two rewards that are equal are not told apart."""
    draw = np.random.default_rng(2)
    good = draw.random(60) < 0.4
    rewards = draw.normal(size=60) + good

    found = feedback.told_apart(rewards.tolist(), good.tolist())
    assert found.value == pytest.approx(roc_auc_score(good, rewards))
    assert feedback.told_apart([1.0, 1.0], [True, False]).value == 0


def test_the_loss_is_a_mean_over_tokens() -> None:
    """A row of nine tokens weighs nine times as much as a row of one."""
    assert metrics.loss([9.0, 3.0], [9, 1]).value == pytest.approx(1.2)


def test_an_interval_of_a_mean_is_that_of_the_t_distribution() -> None:
    """Of 40 rows within a tenth of its width; the same rows give the same interval."""
    scores = np.random.default_rng(3).normal(5, 2, 40)
    wanted = stats.t.interval(0.95, 39, scores.mean(), stats.sem(scores))
    found = metrics.interval(metrics.mean(scores.tolist()))

    assert found == pytest.approx(wanted, abs=0.1 * (wanted[1] - wanted[0]))
    assert found == metrics.interval(metrics.mean(scores.tolist()))
    assert metrics.interval(metrics.mean([1.0] * 5)) is None


@pytest.mark.parametrize("rows", [6, 40])
def test_chance_is_rarely_taken_for_a_difference(
    monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    """Of 100 pairs of models that are as good, about one in twenty is called different."""
    draw = np.random.default_rng(rows)
    called = 0
    monkeypatch.setattr(metrics, "DRAWS", 400)
    for _ in range(100):
        hard = draw.normal(size=rows)
        one, other = (metrics.mean((hard + draw.normal(size=rows)).tolist()) for _ in range(2))
        called += metrics.compare(one, other)["verdict"] != "not distinguishable"

    assert called <= 0.05 * 100 + 3 * math.sqrt(100 * 0.05 * 0.95)


def test_a_difference_is_paired() -> None:
    """What is hard for both models is no noise: unpaired, this could not be told apart."""
    draw = np.random.default_rng(5)
    hard = draw.normal(0, 3, 100)
    before, after = hard + 1, hard + 0.8 + draw.normal(0, 0.05, 100)
    nats = [(values + 10).tolist() for values in (before, after)]
    found = metrics.compare(*(metrics.loss(values, [1] * 100) for values in nats))

    assert found["verdict"] == "better"  # a lower loss
    assert found["interval"][0] < found["change"] < found["interval"][1] < 0
    lows, highs = zip(*(metrics.interval(metrics.mean(values)) for values in nats), strict=True)
    assert max(lows) < min(highs)


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ([0.0] * 5, [1.0] * 5, "not distinguishable"),
        ([0.0] * 6 + [1.0] * 40, [1.0] * 46, "better"),
        ([1.0] * 5 + [0.0] * 40, [0.0] * 45, "not distinguishable"),
        ([1.0] * 20 + [0.0] * 20, [0.0] * 40, "worse"),
        ([1.0, 0.0] * 30, [1.0, 0.0] * 30, "not distinguishable"),
    ],
)
def test_a_verdict_needs_rows_that_differ(
    before: list[float], after: list[float], verdict: str
) -> None:
    """Five that all went one way can be chance (2 in 32), six cannot (2 in 64)."""
    found = metrics.compare(metrics.share(before), metrics.share(after))

    assert found["verdict"] == verdict
    assert found["change"] == pytest.approx(np.mean(after) - np.mean(before))


def test_a_corpus_metric_has_an_interval_as_well() -> None:
    """Macro-F1 is no mean over rows; a model that is much better is called so."""
    worse, right = draw_labels(7, 150, 0.3)
    better = [label if n % 8 else "lost" for n, label in enumerate(right)]
    found = metrics.compare(
        label_metrics.macro_f1(worse, right), label_metrics.macro_f1(better, right)
    )

    ends = metrics.interval(label_metrics.macro_f1(better, right))
    assert ends is not None
    low, high = ends
    assert low < label_metrics.macro_f1(better, right).value < high
    assert found["verdict"] == "better"


def test_what_is_no_number_is_not_compared() -> None:
    """A base whose loss overflows gives no difference, and JSON that can be read."""
    broken = metrics.loss([math.inf] * 8, [1] * 8)
    report = metrics.describe({"loss": metrics.loss([1.0] * 8, [1] * 8)}, {"loss": broken}, "it")

    assert report["base"]["loss"] is None
    assert report["changes"]["loss"]["change"] is None
    assert report["changes"]["loss"]["verdict"] == "not distinguishable"
    assert "not a finite number" in report["verdict"]


def test_one_row_is_no_plural() -> None:
    """The sentence about a test split of one row."""
    measured = {"loss": metrics.loss([1.0], [2])}
    said = metrics.describe(measured, measured, "the model before training")["verdict"]
    assert said.endswith("on 1 row, too few to compare.")


def test_a_line_says_what_is_better_than_what() -> None:
    """The verdict is on the trained model, not on the one behind it."""
    before = {"accuracy": metrics.share([0.0] * 40)}
    after = {"accuracy": metrics.share([1.0] * 40)}

    def say(one: dict[str, metrics.Measured], other: dict[str, metrics.Measured]) -> str:
        report = {"rows": 40, **metrics.describe(one, other, "the model before training")}
        return next(line for line in metrics.lines(report) if "accuracy" in line)

    assert say(after, before).endswith("  better than the model before training (0.0000)")
    assert say(before, after).endswith("  worse than the model before training (1.0000)")
    assert say(after, after).endswith(
        "  not distinguishable from the model before training (1.0000)"
    )
