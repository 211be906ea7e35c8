"""Which questions of a benchmark are in training rows."""

from ftc.runtime.evaluate import overlap

LONG = "Which river runs through the old town of Girona before it reaches the sea at last?"
SHORT = "How many legs has a spider?"


def test_thirteen_words_in_a_row_are_an_overlap() -> None:
    """Case and punctuation do not count; twelve words do not suffice."""
    words = overlap.split_words(LONG)
    inside = "so: " + " ".join(words[1:14]).upper() + "!"
    twelve = " ".join(words[1:13]) + " and more words that nobody asked for"

    assert overlap.measure([LONG], [inside])["overlapping"] == 1
    assert overlap.measure([LONG], [twelve])["overlapping"] == 0


def test_a_short_question_must_be_there_as_a_whole() -> None:
    """Its words must follow one another; a question of a few words is not compared."""
    found = overlap.measure([SHORT, "Who is it?"], ["a row", "Tell me, how many legs has a spider"])

    assert found == {"questions": 2, "compared": 1, "overlapping": 1, "example": SHORT}
    assert overlap.measure([SHORT], ["how many legs has a big spider"])["overlapping"] == 0
    assert overlap.describe(found) == (
        "1 of 1 compared questions are in training rows; 1 are too short to compare"
    )
