"""The forms in which people give an order: a request verb first, a command, a wish, a duty."""

import re
from collections.abc import Sequence
from typing import Final

from ftc.tui.understanding.text.ordinary import read_words
from ftc.tui.understanding.text.verbs import asking_forms

#: A name with a digit, a slash or an underscore is code and is ignored: "bge-m3".
WORD: Final = re.compile(r"(?<![\w/])(?<!\w[-.])[a-z]+(?:['-][a-z]+)*(?![\w/]|[-.]\w)")
SUBJECTS: Final = frozenset({"i", "we", "they", "he", "she", "who", "people", "you"})
_MODALS: Final = frozenset(
    {"can", "could", "shall", "should", "may", "must", "will", "would", "do", "let"}
)
#: Elided articles and pronouns before a word, and pronouns and plurals after it.
_ELIDED: Final = re.compile(
    r"^(?:d|l|s|m|n|t)'|(?:-(?:ho|hi|ne|la|lo|les|los|me|li)|'(?:l|n|ls|m))$"
)
_ENDING: Final = re.compile(r"(?<=[a-z]{3})(?:l[aeo]s?|me)$")
_QUOTE: Final = re.compile(r"[\"\u201c\u201d\u00ab\u00bb]|(?<!\w)'")
#: Forms that are always requests: "mídelo", "guárdate", "comprova-ho", "fes-la".
COMMANDS: Final = re.compile(
    r"(?i)\s*(?:(?:y|i|e|luego|llavors|pues|doncs|si us plau|por favor|ara|ahora|tambi[e\u00e9]n"
    r"|tamb[e\u00e9])\s+)?(?:\w*[\u00e1\u00e9\u00ed\u00f3\u00fa]\w*(?:l[oae]s?|te|me|nos|sel[oa])"
    r"|\w{2,}(?:-(?:ho|lo|la|los|les|hi|li|ne|me|te)|(?:'(?:l|ls|n|m)|(?<!n)'t)))(?![\w'-])"
)
_ENCLITIC: Final = re.compile(
    r"\s*(?:(?:y|i|e|pues|luego|ahora|por favor|venga|va|hala"
    r"|ala),? )*(?P<verb>[a-z]{2,})(?:l[aeo]s?|me|nos)\b"
)
SHORT_ORDERS: Final = frozenset({"da", "dad", "pon", "haz", "mete", "deja", "echa"})
#: A repeated demand: "I said 3 epochs".
REPEATS: Final = re.compile(
    r"\s*(?:(?:hey|ei|eh|no|ya|ja|but|pero),? )*(?:i (?:said|meant)|(?:t'|et )?(?:he|havia) dit"
    r"|vaig dir|volia dir|(?:te )?(?:he|habia) dicho|(?:te )?dije|queria decir)\b"
)
#: An English verb first, with its object: "squash the duplicates", "smooth labels by 0.1".
ORDERS: Final = re.compile(
    r"\s*(?:(?:please|pls|now|then|also|just|and|ok|okay)\s+)?(?!(?:the|with|like|than|from|since|because|when|if"
    r"|while|what|why|how|who|is|are|was|were|does|did|has|had|have|not|but|unlike|about|after|before"
    r"|until|though|only|even|all|both|some|using|sold|bought|got|made|took|gave|went|saw|said|told"
    r"|lost|ran|left|found|broke|heard|thought|built|sent|spent|know|hate|love|think|believe|guess|i|we|he|she|they|you|it)\b)"
    r"(?:[a-z]{3,}(?<!s)(?<!ed)(?<!ing)(?<!ly)\s+"
    r"(?:the|it|them|my|this|that|these|those|everything|all)\b|cap (?:[a-z]+ ){1,3}(?:at|to)\b)"
)
#: A wish about what the training does: "que recalcule ...", "let it ...", "you may run ...".
WISHES: Final = re.compile(
    r"\s*(?:(?:y|i|e|o|pero|and|but|so|also|please|pls|tambe|tambien|ademas|a mes)\s+)*"
    r"(?:(?:(?:els?|l[ao]s?|les) |l')[a-z]+(?: (?:del?|de la|dels|de les|de los|de las|en) ?[a-z]+"
    r"| (?:de l'|d'|de l |l')[a-z]+)?,? (?=que ))?"
    r"(?:que (?:(?:[a-z']+ ){0,5}?[a-z]{2,}(?<!\bs)(?<!\ba[qg]u)(?<!\bm)(?:i|in)(?=\s|$|[^\w'])"
    r"|(?:(?:no|lo|la|los|las|se|me|nos|tambien|cada \w+(?: de \w+)?|el \w+|la \w+) )*"
    r"(?!(?:tiene|cabe|puede|hace|quiere|viene|sale|debe|sirve|suele|sabe|vale|pone|dice|parece"
    r"|conviene|ocupe|entre|este|ese|sobre)n?\b|[a-z]*(?:aven|[tdnlr]ien|eien)\b)(?:[a-z]{2,}en?|sean?|[a-z]*(?:ga|zca|ya)n?|lean?"
    r"|quepan?|aprendan?|corran?|escriban?|cojan?|vean?|reciban?|respondan?|metan?)\b)"
    r"|let (?:it|the|them|its)\b|(?:have|make) (?:it|the model|them) [a-z]+"
    r"|(?:it|the (?:model|run|training)) (?:should|must|has to|needs to|ought to|can|may)\b"
    r"|you (?:can|may|could|should|must)\b|feel free to\b|(?:do not|don'?t|dont|never) [a-z]{3,}\b"
    r"|(?:no|tampoco?|ni) (?:(?:me|nos|l[aeo]s?|li|em|ho|els|les) |l')?[a-z]{3,}(?:[ea]s|is)\b"
    r"|(?:i|we)(?:'ve| have)? decided\b|(?:he|hem|hemos) decidi[dt]o?\b)"
)
#: Words that attribute the statement to somebody else.
OTHERS_SAY: Final = re.compile(
    r"\b(?:say|says|said|tells?|told|claims?|reckons?|thinks?|swears?|dicen?|dijo|dijeron|diu|diuen"
    r"|deia|segons|segun|according|creuen?|creu|creen?|opina\w*|recom\w+|sugg\w+|sug(?:ier|ger)\w+)\b"
)
#: A requirement: "a row of 6000 tokens has to fit".
OBLIGES: Final = re.compile(
    r"\b(?:(?:has|have|needs?) to|must|should(?! have)|(?:hi )?(?:ha|han) de|tienen? que"
    r"|haur(?:e|em|a|an) de|tendr(?:e|emos|a|an) que|deben?|hay que|cal que)\b"
    r"(?! (?:say|admit|be (?:kidding|joking)|dir|decir)\b)"
)


def begins_as_request(before: str) -> bool:
    """Return whether the first content word is a request verb: "classify my emails".

    A verb after an article is a noun ("the run died"), and a quoted verb is somebody else's.
    """
    if _QUOTE.search(before):
        return False
    grammar, leading = read_words(("grammar",)), read_words(("lead",)) | asking_forms()
    determiners = read_words(("determiner",))
    passed: list[str] = []
    for word in WORD.findall(before):
        forms = bare_forms(word)
        if grammar.isdisjoint(forms):
            asks = determiners.isdisjoint(passed[-2:]) and _tells_nothing(passed)
            return asks and not leading.isdisjoint(forms)
        passed.append(word)
    return False


def is_enclitic(order: str) -> bool:
    """Return whether a clause begins with an order and its pronoun: "dale tres vueltas"."""
    first = _ENCLITIC.match(order)
    return first is not None and first["verb"] in asking_forms() | SHORT_ORDERS


def _tells_nothing(passed: Sequence[str]) -> bool:
    """Return whether the words before a verb leave it a request, unlike "we use" or "they set"."""
    return not passed or passed[-1] not in SUBJECTS or bool(_MODALS & set(passed[:-1]))


def bare_forms(word: str) -> set[str]:
    """Return a word with and without its clitics: `l'entrena`, `entrenalo`."""
    whole = _ELIDED.sub("", word)
    spoken = f"{word[:-2]}ado" if word.endswith("ao") else word  # "montao" for "montado"
    return {word, spoken, whole, _ENDING.sub("", whole)}
