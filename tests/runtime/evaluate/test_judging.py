"""Judging: the loss of a row does not depend on the other rows of its batch."""

import itertools
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from ftc.runtime.evaluate import answers, judging, label_scores, reward_scores  # noqa: E402

ROWS = [(2, 1), (9, 3), (5, 5), (30, 1), (17, 16), (9, 8), (3, 2)]  # tokens, and learned ones
SIZES = {
    "vocab_size": 50,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "pad_token_id": 0,
}


@pytest.fixture(scope="module")
def model() -> Any:
    """Return a small model of random weights."""
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES)).eval()


def list_ids() -> Iterator[list[int]]:
    """Yield the tokens of each row; none is the padding."""
    for place, (length, _) in enumerate(ROWS):
        yield [1 + token % 49 for token in range(place, place + length)]


@pytest.mark.parametrize(("most_rows", "most_tokens"), [(1, 4096), (16, 4096), (16, 20)])
def test_the_loss_is_independent_of_batches_and_padding(
    model: Any, most_rows: int, most_tokens: int
) -> None:
    """One row at a time, all at once or by tokens: each row costs what it costs alone."""
    rows = []
    wanted = []
    for ids, (length, learned) in zip(list_ids(), ROWS, strict=True):
        labels = [-100] * (length - learned) + ids[length - learned :]
        rows.append((ids, labels))
        with torch.inference_mode():
            logits = model(torch.tensor([ids])).logits[0, :-1]
        costs = -logits.log_softmax(-1)[range(len(ids) - 1), ids[1:]]
        wanted.append(costs[torch.tensor(labels[1:]) != -100].sum().item())

    nats, tokens = judging.measure_loss(
        model, rows, 0, most_rows=most_rows, most_tokens=most_tokens
    )

    assert nats == pytest.approx(wanted, rel=1e-4)
    assert tokens == [min(learned, length - 1) for length, learned in ROWS]


def test_batches_have_each_row_once() -> None:
    """No batch has more rows or tokens than allowed; a long row has one of its own."""
    lengths = [length for length, _ in ROWS]
    batches = list(judging.make_batches(lengths, most_rows=3, most_tokens=20))

    assert sorted(place for batch in batches for place in batch) == list(range(len(ROWS)))
    for batch in batches:
        longest = max(lengths[place] for place in batch)
        assert len(batch) == 1 or (len(batch) <= 3 and len(batch) * longest <= 20)


@pytest.mark.parametrize(
    ("most", "wanted"), [(9, [0, 1, 2, 3, 4]), (2, [0, 2]), (5, [0, 1, 2, 3, 4])]
)
def test_selected_rows_are_spread_evenly(most: int, wanted: list[int]) -> None:
    """From the first on, and never more than there are."""
    assert judging.select_rows(range(5), most) == wanted


def test_answers_are_those_of_each_prompt_alone(model: Any) -> None:
    """Prompts are padded on the left, and answers come back in the order of the rows."""
    model.generation_config.eos_token_id = 2
    tokenizer = SimpleNamespace(
        pad_token_id=None,
        eos_token_id=2,
        all_special_ids=[2],
        batch_decode=lambda written, **_: [
            " ".join(str(token) for token in row if token != 2) for row in written
        ],
    )
    rows = [{"prompt_ids": ids, "labels": [7]} for ids in list_ids()]

    together = answers.write(model, tokenizer, rows, 3)
    alone = [answers.write(model, tokenizer, [row], 3)[0] for row in rows]

    assert together == alone


def test_long_prompts_are_answered_in_small_batches() -> None:
    """Keys and values of a batch are those of 8,192 tokens, or of one row."""
    seen: list[tuple[int, int]] = []

    def generate(*, input_ids: Any, max_new_tokens: int, **_: object) -> Any:
        rows, width = input_ids.shape
        seen.append((rows, width + max_new_tokens))
        return torch.full((rows, width + 1), 2)

    model: Any = SimpleNamespace(device="cpu", generate=generate)
    tokenizer: Any = SimpleNamespace(pad_token_id=0)
    prompts = [[1] * length for length in (*[100] * 20, *[3000] * 5, 9000)]

    found = answers.generate(model, tokenizer, prompts, 100, [2])

    assert found == [[2]] * len(prompts)
    assert sorted(seen) == [(1, 3100), (1, 9100), (2, 3100), (2, 3100), (4, 200), (16, 200)]


def test_the_loss_of_a_long_row_is_added_up(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tokens at a time give the loss of all at once."""
    rows = [(ids, [-100, *ids[1:]]) for ids in list_ids()]
    whole = judging.measure_loss(model, rows, 0)
    sizes: list[int] = []

    def count(logits: Any, *of: Any, **how: Any) -> Any:
        sizes.append(len(logits))
        return torch.nn.functional.cross_entropy(logits, *of, **how)

    monkeypatch.setattr(judging, "CHUNK_TOKENS", 2)
    monkeypatch.setattr(judging, "cross_entropy", count)
    nats, tokens = judging.measure_loss(model, rows, 0)
    assert max(sizes) == 2
    assert nats == pytest.approx(whole[0], rel=1e-4)
    assert tokens == whole[1]


def test_predictions_have_the_scores_of_both_models() -> None:
    """The base's answer stands beside that of the trained model."""
    tokenizer = SimpleNamespace(decode=lambda ids: f"{len(ids)} tokens")
    rows = [{"prompt_ids": [1, 2], "answer": "yes"}]

    (row,) = answers.list_predictions(
        rows, tokenizer, lambda said, right: [float(said == right)], ["yes"], ["no"]
    )

    assert row == {
        "prompt": "2 tokens",
        "answer": "yes",
        "said": "yes",
        "score": 1.0,
        "base_said": "no",
        "base_score": 0.0,
        "prompt_ids": [1, 2],
    }


def make_scorer(labels: int) -> Any:
    """Return a small model of random weights whose head gives scores."""
    torch.manual_seed(0)
    config = transformers.LlamaConfig(**SIZES, num_labels=labels)
    return transformers.LlamaForSequenceClassification(config).eval()


def test_labels_are_those_of_each_text_alone() -> None:
    """The likeliest label by its name, and the loss of the right one."""
    model = make_scorer(3)
    rows = [{"input_ids": ids, "label": n % 3} for n, ids in enumerate(list_ids())]
    found = label_scores.predict(model, rows, 0)

    for place, row in enumerate(rows):
        with torch.inference_mode():
            logits = model(torch.tensor([row["input_ids"]])).logits[0]
        assert found["nats"][place] == pytest.approx(
            -logits.log_softmax(-1)[row["label"]].item(), rel=1e-4
        )
        assert found["said"][place] == f"LABEL_{logits.argmax().item()}"


def test_the_margin_of_a_pair_is_the_difference_of_its_rewards() -> None:
    """The loss is the mean of -log(sigmoid(margin))."""
    model, ids = make_scorer(1), list(list_ids())
    rows = [{"chosen_ids": a, "rejected_ids": b} for a, b in itertools.pairwise(ids)]
    found = reward_scores.score_pairs(model, rows, 0)
    measured = reward_scores.measure(found)
    margins = torch.tensor(found["margins"])

    with torch.inference_mode():
        first = model(torch.tensor([ids[0]])).logits.item()
    assert found["chosen_ids"][0] == pytest.approx(first, rel=1e-3, abs=1e-6)
    assert measured["loss"].value == pytest.approx(
        torch.nn.functional.softplus(-margins).mean().item(), rel=1e-5
    )
    assert measured["reward_accuracy"].value == pytest.approx((margins > 0).float().mean().item())
