"""Answers that end with a number, refuse, were cut, or are questions."""

import random

import pytest

from ftc.compiler.resolve.content.answer_kinds import (
    count_final_numbers,
    count_questions,
    count_refusals,
    find_cut,
)
from ftc.compiler.resolve.content_facts import CutAnswers
from ftc.compiler.resolve.rows.example import Example
from ftc.compiler.resolve.rows.roles import are_swapped


def answered(*answers: str) -> list[Example]:
    """Return examples with these answers."""
    return [Example(turns=(("user", "how many?"), ("assistant", text))) for text in answers]


@pytest.mark.parametrize(
    "text", ["He has 3 left.\n#### 1,200", "so the answer is $42.", "\\boxed{-3.5}", "17"]
)
def test_an_answer_that_ends_with_its_number(text: str) -> None:
    """As data sets of worked problems write it, or the number alone."""
    assert count_final_numbers(answered(text)) == 1


@pytest.mark.parametrize("text", ["built in 1999", "call 555 0199 or write", "#### forty-two"])
def test_a_number_that_is_no_result(text: str) -> None:
    """A year or a telephone number decides nothing."""
    assert count_final_numbers(answered(text)) == 0


def test_refusals() -> None:
    """Refusals are recognised in three languages; an apology for a late parcel is not a refusal."""
    refusing = ("I'm sorry, but I can't help with that.", "As an AI language model, I cannot say",
                "Lo siento, pero no puedo ayudarte.", "Ho sento, per\u00f2 no puc.")  # fmt: skip
    assert count_refusals(answered(*refusing)) == len(refusing)
    assert count_refusals(answered("I'm sorry that it is late; it left today.", "I can help.")) == 0


def test_answers_of_one_length_that_stop_in_a_sentence() -> None:
    """Complete answers, codes of one length and a few long answers do not count."""
    words = ["parcel", "courier", "street", "battery", "warranty", "invoice", "refund", "keyboard"]
    pick = random.Random(3)  # noqa: S311 - a fixed sample
    texts = [" ".join(pick.choices(words, k=20)) for _ in range(60)]
    cut = [text[:80] for text in texts]
    assert find_cut(answered(*cut)) == CutAnswers(rows=60, characters=80)
    assert find_cut(answered(*cut[:25], *(f"{text}." for text in texts[25:]))) is None
    assert find_cut(answered(*(f"{n:048}" for n in range(60)))) is None
    assert (
        find_cut(
            answered(*(f"the parcel {n:02} is with the courier of the street" for n in range(60)))
        )
        is None
    )


def test_questions_and_swapped_names() -> None:
    """Both sides are counted; names of labels are not compared."""
    assert count_questions(answered("why?", "because")) == (2, 1)
    assert are_swapped("Answer", "question")
    assert not are_swapped("question", "answer")
    assert not are_swapped("label", "text")
