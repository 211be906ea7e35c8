"""Lines of experts: short values, short names of texts, pairs of columns, shares of a whole."""

from typing import Any

import pytest

from ftc.tui.understanding.reader import read
from tests.tui.understanding.doubts.test_certainty import DRAFT


def _read(text: str, draft: dict[str, Any] | None = None) -> dict[str, Any]:
    return {each.pointer: each.value for each in read(text, draft or {}).changes}


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        ("qlora nf4 dq, z2, gbs 64", {"/method/double_quantization": True}),
        ("full ft, z3 off optim, lr 1e-5", {"/distribution/offload": "optimizer"}),
        ("r16 attn+mlp, lr 2e-4", {"/method/targets": "all-linear"}),
        ("lr 5e-5, lm_head+embeds", {"/method/also_train": ["embeddings", "head"]}),
        ("push acme/bot, adapter+gguf", {"/publish/what": ["adapter", "gguf"]}),
        (
            "k8s ns ml-train img ghcr.io/acme/trainer:2.1 pvc ft-data",
            {
                "/launch/namespace": "ml-train",
                "/launch/image": "ghcr.io/acme/trainer:2.1",
                "/launch/volume": "ft-data",
            },
        ),
        ("slurm part gpu_h100 qos urgent", {"/launch/partition": "gpu_h100"}),
        ("modules_to_save=lm_head, max_px=1003520", {"/data/images/max_pixels": 1003520}),
        ('sys "You triage tickets." lr 1e-4', {"/data/system": "You triage tickets."}),
        ("L40S:4, z3", {"/hardware/gpu": "L40S", "/hardware/count": 4}),
        ("sbatch --gres=gpu:a100:2 -t 08:00:00", {"/hardware/count": 2, "/launch/hours": 8}),
        ("qlora / ctx 4k / 3 ep / seed 7", {"/data/max_length": 4096, "/training/epochs": 3}),
        ("grpo, 16 gens, temp 1,1", {"/objective/num_generations": 16}),
    ],
)
def test_a_line_of_abbreviations_is_read(text: str, sets: dict[str, Any]) -> None:
    """A short word sets its field, and a short name the text or number behind it."""
    assert _read(text).items() >= sets.items()


@pytest.mark.parametrize(
    "text",
    [
        "the spot where the run stopped was a z3 in the atlas",
        "compile",
        "he put the img in the part of the page that the account has",
    ],
)
def test_sentences_set_nothing(text: str) -> None:
    """In a sentence the same letters are words of their own."""
    assert _read(text) == {}


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        (
            "toxic.csv, comment->flag",
            {"/data/columns/prompt": "comment", "/data/columns/completion": "flag"},
        ),
        (
            "dpo on pairs.jsonl, best=chosen worst=rejected",
            {"/data/columns/chosen": "best", "/data/columns/rejected": "worst"},
        ),
        (
            "prefs.csv, good/bad as chosen/rejected",
            {"/data/columns/chosen": "good", "/data/columns/rejected": "bad"},
        ),
        ("x.csv, prompt -> question", {"/data/columns/prompt": "question"}),
        ("cosine -> linear", {"/training/schedule": "linear"}),
    ],
)
def test_both_sides_of_a_sign_are_columns(text: str, sets: dict[str, Any]) -> None:
    """An arrow leads from what is given to what is answered, unless a value is replaced."""
    found = _read(text)
    assert found.items() >= sets.items()
    columns = {pointer for pointer in found if pointer.startswith("/data/columns/")}
    assert columns == {pointer for pointer in sets if pointer.startswith("/data/columns/")}


@pytest.mark.parametrize(
    ("text", "draft", "sets"),
    [
        ("steps 800, wu 40", {}, {"/training/warmup": 0.05}),
        ("wu 40", {"training": {"max_steps": 400}}, {"/training/warmup": 0.1}),
        ("lr 2e-4, min lr 2e-5", {}, {"/training/learning_rate_floor": 0.1}),
        ("steps 800, wu 3%", {}, {"/training/warmup": 0.03}),
    ],
)
def test_absolute_numbers_become_shares(
    text: str, draft: dict[str, Any], sets: dict[str, Any]
) -> None:
    """Steps of warm-up are a share of all steps, and the least rate one of the highest."""
    assert _read(text, draft).items() >= sets.items()


@pytest.mark.parametrize(
    ("text", "pointer", "value"),
    [
        ("I said rank 32 earlier but scrap that, sixteen is plenty", "/method/rank", 16),
        ("2 epochs... no wait, 4. hm no. 2 was right", "/training/epochs", 2),
        ("8 \u00e9pocas no, por dios. D\u00e9jalo en 2", "/training/epochs", 2),
        ("My editor ran 5 epochs. I'd rather have 3.", "/training/epochs", 3),
        ("I never said constant. Linear, please.", "/training/schedule", "linear"),
        ("No guardis tants checkpoints, amb 1 en tinc prou", "/training/keep_checkpoints", 1),
    ],
)
def test_a_later_clause_settles_a_field_in_doubt(text: str, pointer: str, value: object) -> None:
    """A clause of nothing but a value and words of settling gives the field its value."""
    assert _read(text, DRAFT)[pointer] == value


@pytest.mark.parametrize(
    "text",
    [
        "if the loss does not fall, raise the rate to 5e-4",
        "the QLoRA paper had a constant schedule and lr 2e-4",
        "hi, I'm Lora and I teach at number 16",
        "bf16, no fp16",
    ],
)
def test_nothing_is_set_that_is_only_told(text: str) -> None:
    """Conditions, reports, names and denied values set nothing."""
    found = _read(text, DRAFT)
    assert found in ({}, {"/training/precision": "bf16"})
