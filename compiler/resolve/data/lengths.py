"""Counts the tokens of each example, including the template, and their distribution.

The prompt of an example is what the model reads before the last answer begins. Without the
tokenizer both are estimated from characters.
"""

import json
import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Final

from ftc.compiler.resolve.chat_template.rendering import ChatTemplateError
from ftc.compiler.resolve.facts import Lengths, Preferences
from ftc.compiler.resolve.model.tokenizer_files import LoadedTokenizer
from ftc.compiler.resolve.rows.example import Example
from ftc.runtime.read.image_rows import list_images
from ftc.runtime.read.reasoning import split
from ftc.runtime.read.rows import Turn, Turns, add_system, is_prompt
from ftc.runtime.tokens.class_records import text_of
from ftc.runtime.tokens.plain_records import join_prompt
from ftc.runtime.tokens.vector_records import list_texts
from ftc.runtime.vision.image_tokens import Rule, most_pixels, place_images

Pair = tuple[int, int]
#: Tokens that an unknown template's markers add to a turn.
_MARKER_TOKENS: Final = 5
_BATCH_ROWS: Final = 2000
#: A longest row beyond this multiple of the 99th percentile is an outlier.
OUTLIER: Final = 2.0
Count = Callable[[Sequence[Example]], Iterable[Pair | None]]
#: What estimates the tokens of a text.
Estimate = Callable[[str], int]


if TYPE_CHECKING:  # slow to import, needed only where a tokenizer is there
    from tokenizers import Encoding


def count_lengths(
    examples: Sequence[Example],
    tokenizer: LoadedTokenizer,
    *,
    system: str | None,
    rule: Rule | None = None,
) -> Iterator[Pair | None]:
    """Yield (tokens, tokens of the prompt) per example; None where the template refuses it.

    Images have the tokens that their `rule` gives them.
    """
    batches = (
        [add_system(example.turns, system) for example in batch] for batch in _batches(examples)
    )
    if examples and examples[0].turns[0][0] == "text":
        for batch in batches:
            yield from _count_texts([text for ((_, text), *_) in batch], tokenizer)
    elif tokenizer.template is None:
        for batch in batches:
            yield from _count_plain(batch, tokenizer)
    else:
        yield from _count_rendered(batches, tokenizer, rule)


def find_refusal(examples: Iterable[Example], tokenizer: LoadedTokenizer) -> str:
    """Return the chat template's error for the first example that it rejects, or ""."""
    for example in examples:
        turns = example.turns
        if example.compares or example.verdict:
            turns = (*example.prompt, ("assistant", turns[-2][1]))
        messages, tools = tokenizer.read_turns(turns)
        try:
            if tokenizer.template is not None:
                tokenizer.template.render(messages, tools=tools)
        except ChatTemplateError as error:
            return str(error)
    return ""


def estimate_lengths(
    examples: Iterable[Example],
    estimate: Estimate,
    *,
    system: str | None,
    count_images: Callable[[Example], int] = lambda _: 0,
) -> Iterator[Pair]:
    """Yield (tokens, tokens of the prompt) per example, as estimated from characters.

    `count_images` returns the tokens of an example's images.
    """
    for example in examples:
        turns = add_system(example.texts.turns, system)
        marker = 0 if example.turns[0][0] == "text" else _MARKER_TOKENS
        tokens = [estimate(text) + marker for _, text in turns]
        seen = count_images(example)
        if example.is_prompt:
            yield sum(tokens) + marker, sum(tokens) + marker
            continue
        yield sum(tokens) + seen, sum(tokens[:-1]) + (marker if len(tokens) > 1 else 0) + seen


def summarise(pairs: Sequence[Pair], *, estimate: bool) -> Lengths:
    """Return nearest-rank percentiles and the histogram of at least one pair."""
    totals = sorted(total for total, _ in pairs)
    prompts = sorted(prompt for _, prompt in pairs)
    answers = sorted(total - prompt for total, prompt in pairs)
    return Lengths(
        estimate=estimate,
        mean=round(sum(totals) / len(totals), 2),
        p50=_percentile(totals, 50),
        p90=_percentile(totals, 90),
        p95=_percentile(totals, 95),
        p99=_percentile(totals, 99),
        max=totals[-1],
        prompt_p50=_percentile(prompts, 50),
        prompt_p95=_percentile(prompts, 95),
        prompt_max=prompts[-1],
        answer_p50=_percentile(answers, 50),
        answer_p95=_percentile(answers, 95),
        answer_max=answers[-1],
        histogram=_histogram(totals),
        prompt_histogram=_histogram(prompts),
    )


def _count_texts(texts: Sequence[str], tokenizer: LoadedTokenizer) -> Iterator[Pair]:
    """Count plain texts, each closed by one eos."""
    for encoding in tokenizer.encode(texts, special=True):
        yield len(encoding) - tokenizer.is_closed(encoding) + 1, 0


def _count_plain(batch: Sequence[Turns], tokenizer: LoadedTokenizer) -> Iterator[Pair]:
    """Count the prompt's lines, then the answer, then eos: what is trained on with no template."""
    if is_prompt(batch[0]):
        for prompt in tokenizer.encode([_join(turns) for turns in batch], special=True):
            asked = len(prompt) - tokenizer.is_closed(prompt)
            yield asked, asked
        return
    before = [_join(turns[:-1]) for turns in batch]
    prompts = tokenizer.encode(before, special=True)
    answers = tokenizer.encode([turns[-1][1] for turns in batch], special=False)
    for prompt, answer in zip(prompts, answers, strict=True):
        asked = len(prompt) - tokenizer.is_closed(prompt)
        yield asked + len(answer) + 1, asked


def _join(turns: Sequence[Turn]) -> str:
    return join_prompt([text for _, text in turns])


def _count_rendered(
    batches: Iterable[Sequence[Turns]], tokenizer: LoadedTokenizer, rule: Rule | None
) -> Iterator[Pair | None]:
    """Count rendered conversations, encoding one batch while the next is being rendered."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        waiting: deque[Callable[[], Iterator[Pair | None]]] = deque()
        for batch in batches:
            texts = [_render(turns, tokenizer, rule) for turns in batch]
            whole = [text[0] for text in texts if text is not None]
            future = pool.submit(tokenizer.encode, whole, special=False)
            waiting.append(partial(_pairs, batch, texts, future, tokenizer))
            if len(waiting) > 1:
                yield from waiting.popleft()()
        for pairs in waiting:
            yield from pairs()


def _pairs(
    batch: Sequence[Turns],
    texts: Sequence[tuple[str, int] | None],
    encoded: "Future[Iterator[Encoding]]",
    tokenizer: LoadedTokenizer,
) -> Iterator[Pair | None]:
    """Count a batch; eos is added where the template does not end with it."""
    encodings, eos = encoded.result(), tokenizer.eos
    for turns, rendered in zip(batch, texts, strict=True):
        if rendered is None:
            yield None
            continue
        text, more = rendered
        encoding = next(encodings)
        if is_prompt(turns):
            yield len(encoding), len(encoding)
            continue
        start = _find_answer(text, turns[-1])
        total = len(encoding) + (not text.endswith(eos))
        yield total + more, _tokens_before(encoding, start, len(text)) + more


def _find_answer(text: str, answer: Turn) -> int:
    """Return where a rendered conversation says its answer; a call is found by what it calls.

    A template may write reasoning in its own way, and leave it out.
    """
    role, said = answer
    if role == "calls":
        return max(text.rfind(json.loads(said)[0]["function"]["name"]), 0)
    places = (text.rfind(part) for part in (said, *split(said)) if part)
    return max(next((place for place in places if place >= 0), 0), 0)


def _render(turns: Turns, tokenizer: LoadedTokenizer, rule: Rule | None) -> tuple[str, int] | None:
    """Render a conversation; the white space after its last turn is not trained on.

    A prompt alone ends where the model's answer begins. The number is that of the tokens of images,
    which the text has once each, beyond the first.
    """
    if tokenizer.template is None:
        return None
    messages, tools = tokenizer.read_turns(turns)
    render = partial(tokenizer.template.render, messages, tools=tools)
    try:
        text = render(add_generation_prompt=True) if is_prompt(turns) else render().rstrip()
    except ChatTemplateError:
        return None
    if rule is None:
        return text, 0
    side = math.isqrt(most_pixels(rule))
    sizes = [(i.get("width", side), i.get("height", side)) for i in list_images(turns)]
    placed = place_images(rule, text, sizes)
    return None if placed is None else (placed[0], sum(count - 1 for count in placed[1]))


def _tokens_before(encoding: "Encoding", position: int, end: int) -> int:
    """Count the tokens before a character; one that spaces swallowed is looked for after it."""
    while position < end:
        token = encoding.char_to_token(position)
        if token is not None:
            return token
        position += 1
    return len(encoding)


def _batches(examples: Iterable[Example]) -> Iterator[list[Example]]:
    batch: list[Example] = []
    for example in examples:
        batch.append(example)
        if len(batch) == _BATCH_ROWS:
            yield batch
            batch = []
    if batch:
        yield batch


def _percentile(ordered: Sequence[int], percent: int) -> int:
    return ordered[math.ceil(percent * len(ordered) / 100) - 1]


def bin_step(tokens: int) -> int:
    """Return how far the edges around a length are apart in a histogram."""
    return max(8, (1 << max(tokens - 1, 1).bit_length()) // 64)


def _histogram(tokens: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Count by edges a 32nd of their power of two apart, at least 8 tokens; none empty.

    Up to 4,096 tokens every length that the plan may choose is an edge.
    """
    counts: dict[int, int] = {}
    for total, rows in Counter(tokens).items():
        step = bin_step(total)
        edge = math.ceil(max(total, 1) / step) * step
        counts[edge] = counts.get(edge, 0) + rows
    return tuple(sorted(counts.items()))


def count_scored(examples: Sequence[Example], *, tokenizer: LoadedTokenizer) -> Iterator[Pair]:
    """Yield (tokens, 0) per example, as transformers' pipeline would tokenize its text."""
    for start in range(0, len(examples), _BATCH_ROWS):
        texts = [text_of(example.turns) for example in examples[start : start + _BATCH_ROWS]]
        for encoding in tokenizer.encode(texts, special=True):
            yield len(encoding), 0


def count_longest(
    examples: Sequence[Example], *, tokenizer: LoadedTokenizer, joined: bool
) -> Iterator[Pair]:
    """Yield (tokens of the longest text, 0) per example, of texts that are read one by one.

    Where texts are `joined`, the query is read with each of the others.
    """
    for start in range(0, len(examples), _BATCH_ROWS):
        rows = [list_texts(example.turns) for example in examples[start : start + _BATCH_ROWS]]
        encodings = iter(tokenizer.encode([text for row in rows for text in row], special=True))
        for row in rows:
            yield _longest([len(next(encodings)) for _ in row], joined=joined), 0


def estimate_longest(
    examples: Sequence[Example], *, estimate: Estimate, joined: bool
) -> Iterator[Pair]:
    """Yield the same numbers, estimated from characters."""
    for example in examples:
        yield _longest([estimate(text) for text in list_texts(example.turns)], joined=joined), 0


def _longest(lengths: Sequence[int], *, joined: bool) -> int:
    return lengths[0] + max(lengths[1:]) if joined else max(lengths)


def estimate_scored(examples: Sequence[Example], *, estimate: Estimate) -> Iterator[Pair]:
    """Yield (tokens, 0) per example, as estimated from characters."""
    for example in examples:
        yield estimate(text_of(example.turns)), 0


def count_answers(
    examples: Sequence[Example], count: Count
) -> tuple[list[Pair], Preferences | None]:
    """Return (tokens, tokens of the prompt) of each example: of a pair's longer conversation.

    Examples that the chat template refuses are left out.
    """
    if examples[0].compares:
        pairs = list(_count_pairs(examples, count))
        return [max(pair) for pair in pairs], _compare(pairs) if pairs else None
    if examples[0].verdict:
        examples = [Example(turns=example.turns[:-1]) for example in examples]
    return [pair for pair in count(examples) if pair is not None], None


def find_unlike(
    numbers: Sequence[int], pairs: Sequence[Pair | None], *, p99: int, most: int
) -> Mapping[str, tuple[int, ...]]:
    """Return the rows that the template rejects, and the rows that are much longer than the others.

    `numbers` are the rows' numbers in the data; of each reason at most so many are returned.
    """
    each = max(1, len(pairs) // max(1, len(numbers)))  # two where answers are compared
    refused = {place // each: None for place, pair in enumerate(pairs) if pair is None}
    tokens = {place: pair[0] for place, pair in enumerate(pairs) if pair is not None}
    far = sorted((p for p, n in tokens.items() if n > OUTLIER * p99), key=lambda p: -tokens[p])
    found = {"refused": refused, "long": dict.fromkeys(place // each for place in far)}
    return {
        reason: tuple(numbers[place] for place in list(places)[:most])
        for reason, places in found.items()
        if places
    }


def list_longer(pairs: Sequence[Pair | None], rows: int) -> list[Pair | None]:
    """Return one of `pairs` for each of so many rows: of two answers the longer conversation."""
    each = max(1, len(pairs) // max(1, rows))
    groups = (pairs[start : start + each] for start in range(0, len(pairs), each))
    return [None if None in group else max(filter(None, group)) for group in groups]


def _count_pairs(examples: Sequence[Example], count: Count) -> Iterator[tuple[Pair, Pair]]:
    """Yield (tokens, tokens of the prompt) of the chosen and of the rejected conversation."""
    alone = [
        Example(turns=(*example.prompt, ("assistant", text)))
        for example in examples
        for _, text in example.turns[-2:]
    ]
    counted = iter(count(alone))
    for chosen, rejected in zip(counted, counted, strict=True):
        if chosen is not None and rejected is not None:
            yield chosen, rejected


def _compare(pairs: Sequence[tuple[Pair, Pair]]) -> Preferences:
    """Return how long chosen and rejected answers are, of at least one pair."""
    chosen = sorted(tokens - prompt for (tokens, prompt), _ in pairs)
    rejected = sorted(tokens - prompt for _, (tokens, prompt) in pairs)
    ahead = sum(one[0] > other[0] for one, other in pairs)
    behind = sum(one[0] < other[0] for one, other in pairs)
    return Preferences(
        chosen_p50=_percentile(chosen, 50),
        chosen_p95=_percentile(chosen, 95),
        rejected_p50=_percentile(rejected, 50),
        rejected_p95=_percentile(rejected, 95),
        longer_share=round(ahead / max(1, ahead + behind), 4),
    )
