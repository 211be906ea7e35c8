"""What repeats: examples, and prompts with another answer."""

from ftc.compiler.resolve.content.near_duplicates import PromptCount
from ftc.compiler.resolve.rows.example import Example


def pair(prompt: str, answer: str) -> Example:
    """Return a question and its answer."""
    return Example(turns=(("user", prompt), ("assistant", answer)))


def test_white_space_and_unicode_forms_make_no_difference() -> None:
    """A copy is a copy when only these differ; capitals make another text."""
    count = PromptCount()
    assert not count.is_known(pair("a  b", "cafe\u0301"))
    assert count.is_known(pair(" a\nb ", "café"))
    assert not count.is_known(pair("A b", "café"))
    assert (count.distinct(), count.largest(), count.conflicting) == (2, 1, 0)


def test_where_a_prompt_ends_makes_a_difference() -> None:
    """The same words, divided otherwise, are another example."""
    count = PromptCount()
    assert not count.is_known(pair("a b", "c"))
    assert not count.is_known(pair("a", "b c"))


def test_another_answer_is_a_conflict() -> None:
    """A prompt that comes again with another answer is counted, a mere copy is not."""
    count = PromptCount()
    known = [count.is_known(pair("who", answer)) for answer in ("me", "you", "me", "they")]
    assert known == [False, False, True, False]
    assert (count.distinct(), count.largest(), count.conflicting) == (1, 3, 2)


def test_plain_texts_are_prompts_themselves() -> None:
    """Each distinct text is a group of its own, as in `prepare.py`."""
    count = PromptCount()
    for text in ("one", "two", "one"):
        count.is_known(Example(turns=(("text", text),)))
    assert (count.distinct(), count.largest(), count.conflicting) == (2, 1, 0)
