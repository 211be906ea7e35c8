"""Did you mean."""

import pytest

from ftc.spec.findings.quote import quote
from ftc.spec.values.nearest import is_certain, is_misspelt, nearest

KNOWN = ("learning_rate", "weight_decay", "zero2", "zero3", "Q4_K_M", "Q4_K_S")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("lerning_rate", "learning_rate"),
        ("LearningRate", "learning_rate"),
        ("weight-decay", "weight_decay"),
        ("q4km", "Q4_K_M"),
        ("banana", None),
        ("", None),
        ("x" * 10_000, None),
    ],
)
def test_nearest(word: str, meant: str | None) -> None:
    """A typing error is recognised; a different word is not."""
    assert nearest(word, KNOWN) == meant


@pytest.mark.parametrize(
    ("word", "meant"),
    [("Q4", "Q4_K_M"), ("q5", "Q5_K_M"), ("Q8", "Q8_0"), ("Q6_K_M", "Q6_K"), ("Q4_2", "Q4_1")],
)
def test_a_customary_word_wins_among_equally_near_ones(word: str, meant: str) -> None:
    """What is written may begin several words; the one people use is meant, or one like it."""
    types = ("Q8_0", "Q6_K", "Q5_K_M", "Q5_K_S", "Q5_1", "Q4_1", "Q4_0", "Q4_K_S", "Q4_K_M")
    assert nearest(word, types, ("Q4_K_M",)) == meant


def test_without_custom_the_order_of_the_field_decides() -> None:
    """No word is preferred over another then."""
    assert nearest("zero9", KNOWN) in ("zero2", "zero3")


def test_certain() -> None:
    """A fix is offered only if no other word is similar."""
    assert is_certain("lerning_rate", "learning_rate", KNOWN)
    assert is_certain("q4_k_m", "Q4_K_M", KNOWN)
    assert not is_certain("zero9", "zero2", KNOWN)


@pytest.mark.parametrize(
    ("word", "meant", "known", "certain"),
    [
        ("lroa", "lora", ("lora", "qlora", "full"), True),
        ("trainig", "training", ("training", "tracking"), True),
        ("lerning_rate", "learning_rate", ("learning_rate", "embedding_learning_rate"), True),
        ("adamw_7bit", "adamw_8bit", ("adamw", "adamw_8bit"), False),
        ("rtx4091", "rtx4090", ("rtx4090", "rtx4080"), False),
        ("tets", "test", ("test", "text"), True),
        ("tesst", "tesset", ("tesset", "tessat"), False),
    ],
)
def test_one_slip_in_a_word_is_certain(
    word: str, meant: str, known: tuple[str, ...], certain: bool
) -> None:
    """Two swapped letters, or one wrong letter in a long word, but never a wrong digit."""
    assert is_certain(word, meant, known) == certain


def test_another_word_with_some_letters_in_common_is_not_certain() -> None:
    """`pretrain` is no misspelling of `rerank`; `rerankr` is one, and `classif` begins a word."""
    words = ("sft", "rerank", "classification")
    assert not is_certain("pretrain", "rerank", words)
    assert is_certain("rerankr", "rerank", words)
    assert is_certain("classif", "classification", words)


@pytest.mark.parametrize(
    ("key", "field", "same"),
    [
        ("lerning_rate", "learning_rate", True),
        ("lerning_rte", "learning_rate", True),
        ("gradiant_checkpoint", "gradient_checkpointing", False),
        ("module_dropout", "dropout", False),
        ("psoft_alpha", "alpha", False),
        ("lr_decay", "decay", False),
        ("early_stopping_steps", "early_stopping", False),
        ("kto_chosen_weight", "desirable_weight", False),
        ("max_length", "min_length", False),
        ("adam_beta3", "adam_beta2", False),
        ("dropuot", "dropout", True),
        ("kd_temperature", "temperature", False),
        ("target_r", "targets", False),
        ("loss_fn", "loss_on", False),
        ("learningRat", "learning_rate", True),
    ],
)
def test_a_key_that_contains_the_name_of_a_field_is_another_name(
    key: str, field: str, same: bool
) -> None:
    """Only a typing error in a long name is the field: `module_dropout` is no `dropout`."""
    assert is_misspelt(key, field, [field, "weight_decay"]) == same


def test_quote() -> None:
    """A value is shown cut to one line, without control characters."""
    assert quote("a\x1b`\n") == '`"a\\u001b\'\\n"`'
    assert quote("é\u202e") == '`"é\\u202e"`'
    assert len(str(quote("x" * 1_000_000))) == 62
    assert str(quote([1])) == "a list"
    assert quote(None) == "`null`"
    assert len(str(quote(10**1000))) == 62
