"""Near copies and languages: what is found, what is not, and that the result is deterministic."""

import random
from collections.abc import Sequence

import pytest

from ftc.compiler.resolve.content import near_duplicates as twins_module
from ftc.compiler.resolve.content.languages import find_languages
from ftc.compiler.resolve.content.near_duplicates import find_near_duplicates
from ftc.compiler.resolve.content_facts import NearDuplicates
from ftc.compiler.resolve.rows.example import Example

VOCABULARY = [f"{a}{b}o{c}" for a in "bcdfghklmnprst" for b in "aeiu" for c in "dlmnprstz"]


def sentences(rows: int, seed: int = 1) -> list[str]:
    """Return sentences of twenty random words, each of its own."""
    pick = random.Random(seed)  # noqa: S311 - a fixed sample
    return [" ".join(pick.sample(VOCABULARY, 20)) for _ in range(rows)]


def examples(texts: Sequence[str]) -> list[Example]:
    """Return one question with one answer for each text."""
    return [Example(turns=(("user", text), ("assistant", "yes"))) for text in texts]


def find(texts: Sequence[str]) -> NearDuplicates:
    """Look for near copies among texts whose rows are counted from 1."""
    return find_near_duplicates(examples(texts), range(1, len(texts) + 1))


def test_rows_of_their_own_have_no_twins() -> None:
    """Words in common by chance are no copy."""
    found = find(sentences(400))
    assert found == NearDuplicates(probes=200, compared=400, counts=((0, 200),), largest=0, row=0)


def test_copies_but_for_a_word_are_found() -> None:
    """One word of twenty differs, and case and punctuation; each row then has one twin."""
    first = sentences(50)
    second = [f"Hello! {text.upper()}." for text in first]
    found = find([*first, *second])
    assert found.counts == ((1, 100),)
    assert found.largest == 1


def test_three_words_of_twenty_make_another_row() -> None:
    """The bar is nine tenths of the words of both together."""
    first = sentences(50)
    assert find([*first, *(f"{text} one two three" for text in first)]).largest == 0


def test_every_pair_is_found_that_comparing_all_finds() -> None:
    """The rare words of a drawn row lead to each row that is alike, none is missed."""
    pick = random.Random(3)  # noqa: S311 - a fixed sample
    texts = sentences(60)
    for text in texts[:30]:
        words = text.split()
        words[pick.randrange(20)] = "changed"
        texts.append(" ".join(words))
    words_of = [set(text.split()) | {"yes"} for text in texts]
    common = {"yes"}
    counted = {0: 0, 1: 0}
    for one, mine in enumerate(words_of):
        alike = [
            other
            for other, theirs in enumerate(words_of)
            if one != other and len(mine & theirs - common) >= 0.9 * len((mine | theirs) - common)
        ]
        counted[len(alike)] += 1
    assert find(texts).counts == tuple(counted.items())
    assert counted[1] > 0


def test_a_cluster_is_named_by_a_row_of_it() -> None:
    """The largest number of near copies is that of a drawn row of the cluster."""
    text = sentences(1)[0]
    texts = [*sentences(300, seed=2), *(f"{text} {number}" for number in range(100))]
    found = find(texts)
    assert found.largest == 99
    assert found.row > 300


def test_words_of_every_row_do_not_count() -> None:
    """A long instruction before each row makes no copies of rows that share nothing else."""
    frame = " ".join(f"frame{n}" for n in range(200))
    assert find([f"{frame} {text}" for text in sentences(100)]).largest == 0


def test_long_rows_are_compared_by_runs_of_words() -> None:
    """Long rows of a small vocabulary share all of their words, and are no copies for that."""
    pick = random.Random(4)  # noqa: S311 - a fixed sample
    texts = [" ".join(pick.choices(VOCABULARY[:60], k=300)) for _ in range(80)]
    assert find(texts).largest == 0
    copies = [f"{text} and some words more" for text in texts]
    assert find([*texts, *copies]).counts == ((1, 160),)


def test_rows_of_one_template_are_copies() -> None:
    """Every word is in every row, but for a number."""
    text = sentences(1)[0]
    assert find([f"{text} {number}" for number in range(50)]).counts == ((49, 50),)


def test_short_texts_in_a_frame_are_no_copies() -> None:
    """What differs is two words of each row, and they are what the row is about."""
    frame = " ".join(f"frame{n}" for n in range(30))
    pick = random.Random(7)  # noqa: S311 - a fixed sample
    rows = [f"{frame} {' '.join(pick.sample(VOCABULARY, 2))}" for _ in range(100)]
    assert find(rows).largest == 0


def test_one_prompt_with_two_answers_is_no_pair() -> None:
    """Rows with one prompt are never split apart."""
    texts = sentences(40)
    rows = [
        Example(turns=(("user", text), ("assistant", answer)))
        for text in texts
        for answer in ("yes", "no")
    ]
    assert find_near_duplicates(rows, range(1, 81)).largest == 0


def test_writing_without_spaces_is_compared_by_letters() -> None:
    """Chinese has no spaces between words."""
    pick = random.Random(5)  # noqa: S311 - a fixed sample
    letters = [chr(0x4E00 + n) for n in range(2000)]
    rows = ["".join(pick.sample(letters, 30)) for _ in range(60)]
    assert find(rows).largest == 0
    assert find([*rows, *(f"{row}。" for row in rows)]).counts == ((1, 120),)


def test_the_work_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where everything is alike, the pass stops early and says how many rows it saw."""
    monkeypatch.setattr(twins_module, "_PAIRS", 1000)
    text = sentences(1)[0]
    other = sentences(1, seed=9)[0]
    found = find([f"{text if n % 3 else other} {n}" for n in range(2000)])
    assert found.compared < 2000
    assert found.largest > 0


TEXTS = {
    "en": "Where is my parcel? I have been waiting for it and you said that it was on the way.",
    "es": "¿Dónde está mi paquete? Hace una semana que lo espero y no me lo han traído.",
    "ca": "On és el meu paquet? Fa una setmana que l'espero amb els altres i no ha arribat.",
    "fr": "Où est mon colis ? Je l'attends dans la maison depuis une semaine et il n'est pas là.",
    "de": "Wo ist mein Paket? Ich warte seit einer Woche und es ist noch nicht da, sagen Sie mir.",
    "it": "Dove è il mio pacco? Lo aspetto da una settimana e non è arrivato, come mai per me?",
    "pt": "Onde está o meu pacote? Espero há uma semana e não chegou, o que é que eu faço?",
    "nl": "Waar is mijn pakket? Ik wacht al een week en het is er niet, wat moet ik doen met u?",
    "pl": "Gdzie jest moja paczka? Czekam już tydzień i nie przyszła, jak to jest możliwe?",
    "ru": "Где моя посылка? Я жду её уже неделю, и всё нет.",
    "zh": "我的包裹在哪里?我已经等了一个星期了。",
    "ja": "私の荷物はどこですか。もう一週間待っています。",
    "ko": "제 소포가 어디에 있나요? 일주일 동안 기다리고 있어요.",
    "ar": "أين طردي؟ أنتظره منذ أسبوع ولم يصل بعد.",
}


@pytest.mark.parametrize("code", TEXTS)
def test_languages_are_told(code: str) -> None:
    """By script, or by the words that each language uses most."""
    assert find_languages(examples([TEXTS[code]])) == {code: 1.0}


def test_shares_of_languages_are_of_rows_that_show_one() -> None:
    """Numbers and single words say nothing, and the most frequent language comes first."""
    texts = [TEXTS["es"], TEXTS["en"], TEXTS["en"], TEXTS["en"], "42", "ok"]
    assert list(find_languages(examples(texts)).items()) == [("en", 0.75), ("es", 0.25)]
