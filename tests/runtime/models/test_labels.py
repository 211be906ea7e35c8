"""Labels: the loss of a head is a mean over rows, and what is measured of its predictions."""

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from ftc.runtime.evaluate import label_scores  # noqa: E402
from ftc.runtime.metric import label_metrics  # noqa: E402
from ftc.runtime.models import labels  # noqa: E402

SCORES = np.array([[2.0, 0.5], [0.1, 0.3], [-1.0, 1.0]])
RIGHT = np.array([0, 1, 0])
FOUND = [{"name": "a", "train": 30}, {"name": "b", "train": 10}]


@pytest.mark.parametrize("weights", [None, [20 / 30, 20 / 10]])
def test_the_loss_is_a_mean_over_rows(weights: list[float] | None) -> None:
    """It is computed from the scores of all rows at once, and so does not depend on batches."""
    judged = labels.make_judge(weights)(
        SimpleNamespace(predictions=SCORES.astype(np.float32), label_ids=RIGHT)
    )

    nats = np.log(np.exp(SCORES).sum(1)) - SCORES[range(3), RIGHT]
    scale = np.array(weights or [1.0, 1.0])
    assert judged["loss"] == pytest.approx((nats * scale[RIGHT]).mean(), rel=1e-6)
    assert judged["accuracy"] == pytest.approx(2 / 3)
    assert judged["macro_f1"] == pytest.approx(2 / 3)


def test_the_loss_of_a_step_counts_all_its_rows() -> None:
    """A pass of a step with accumulation has some of the rows; the step's loss is their mean."""
    scores, right = torch.tensor(SCORES), torch.tensor(RIGHT)
    mean_loss = labels.make_loss()
    parts = [
        mean_loss(SimpleNamespace(logits=scores[part]), right[part], num_items_in_batch=3)
        for part in (slice(0, 1), slice(1, 3))
    ]

    assert sum(parts).item() == pytest.approx(
        mean_loss(SimpleNamespace(logits=scores), right).item()
    )


def test_balanced_weights_let_labels_count_alike() -> None:
    """Weight times rows is the same for each label; a label without rows divides by nothing."""
    assert labels.balance(FOUND) == [20 / 30, 20 / 10]
    assert labels.balance([*FOUND, {"name": "c", "train": 0}]) == [20 / 30, 20 / 10, 20.0]


def test_the_head_knows_the_names() -> None:
    """config.json names the labels in the head's order, and the padding that scores stop at."""
    tokenizer: Any = SimpleNamespace(pad_token=None, eos_token="</s>", pad_token_id=2)
    settings = labels.head_settings(tokenizer, ["a", "b"], 7)

    assert settings["id2label"] == {0: "a", 1: "b"}
    assert settings["label2id"] == {"a": 0, "b": 1}
    assert settings["pad_token_id"] == 2
    assert tokenizer.pad_token == "</s>"


def test_chance_is_measured_on_the_same_rows() -> None:
    """The most common label of the training rows, and answers that are no label."""
    right = ["a"] * 6 + ["b"] * 4
    said = ["a"] * 6 + ["b"] * 3 + ["c"]
    found = label_metrics.describe_chance(said, right, Counter({"b": 9, "a": 3}))

    assert found["chance"] == 0.5
    assert found["majority_class"] == 0.4
    assert found["labels"] == 2
    assert found["other_answers"] == 1
    assert found["majority_verdict"] in {"better", "not distinguishable"}


def test_predictions_of_a_classification_have_a_score() -> None:
    """One for the right label."""
    rows = [{"prompt": "where is it?", "answer": "late"}]

    assert list(label_scores.list_predictions(rows, ["late"])) == [
        {"prompt": "where is it?", "answer": "late", "said": "late", "score": 1.0}
    ]
