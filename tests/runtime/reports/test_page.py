"""The parts of a page: what others wrote, tables, and the curve."""

from typing import Any

import pytest

from ftc.runtime.report_parts import answers
from ftc.runtime.reports import page, report_results
from ftc.runtime.reports.page import to_markdown
from tests.runtime.reports.test_report import HOSTILE, cells_of


def test_what_others_wrote_stays_text() -> None:
    """A prompt with markup, HTML, links and pipes is one cell of letters."""
    rows = [{"prompt": HOSTILE, "answer": "a|b", "said": HOSTILE * 20}]
    columns = {"prompt": "prompt", "answer": "right", "said": "trained"}
    (titles, cells) = cells_of(to_markdown(answers.show_samples("Wrong answers", rows, columns)))

    assert titles == ["prompt", "right", "trained"]
    assert cells[0] == " ".join(HOSTILE.split())
    assert cells[1] == "a|b"
    assert cells[2].endswith("…")
    assert len(cells[2]) <= 302


def test_of_a_long_prompt_the_end_is_shown() -> None:
    """Instructions come first, and the question last."""
    assert page.shorten("a" * 500 + " why?", 10, end=True) == "… aaaaa why?"
    assert page.shorten("short", 10) == "short"


def test_titles_have_columns_of_their_own() -> None:
    """A long title widens its column, so that columns stay apart."""
    table = page.table(("file", "perplexity", "numeric match"), [("a", "1.0", "2.0")])
    lines = to_markdown(table)

    assert cells_of(lines) == [["file", "perplexity", "numeric match"], ["a", "1.0", "2.0"]]
    assert len({len(line) for line in lines[:-1]}) == 1


def test_the_worst_labels_are_shown_and_the_rest_named() -> None:
    """A hundred labels do not fill the page."""
    labels = [
        {"label": f"label {n}", "precision": None, "recall": 0.5, "f1": n / 100, "support": 3}
        for n in range(100)
    ]
    lines = to_markdown(answers.list_labels(labels))

    assert len(cells_of(lines)) == 16
    assert cells_of(lines)[1] == ["label 0", "-", "50.0%", "0.0%", "3"]
    assert "15 worst of 100 labels; all are in run/evaluate/labels.jsonl" in lines[-2]


@pytest.mark.parametrize(("last", "scale"), [(0.02, "log"), (2.0, "linear"), (0.0, "linear")])
def test_a_loss_of_many_decades_is_drawn_logarithmically(last: float, scale: str) -> None:
    """Not a reward, and not where a logarithm does not exist; the saved step is marked."""
    points = {"training": [[1, 4.0], [2, last]], "validation": [[0, 4.0], [2, last]]}
    words: dict[str, Any] = {"title": "Loss during training", "unit": "loss per token", "kept": 2}
    (axes,) = report_results.draw_curve(points, **words, is_loss=True).axes
    (reward,) = report_results.draw_curve(points, **words, is_loss=False).axes

    assert axes.get_yscale() == scale
    assert reward.get_yscale() == "linear"
    assert axes.get_title() == "Loss during training"
    assert "saved model (step 2)" in axes.get_legend_handles_labels()[1]


# -----------------------------------------------------------------------------
