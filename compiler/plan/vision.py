"""Limits the size of images: the largest that fit in memory and in the model's context."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from ftc.compiler.plan.decision import Decision, derived, keep
from ftc.compiler.plan.plan import Plan
from ftc.compiler.resolve.detail_facts import ImageSizes
from ftc.compiler.resolve.facts import Facts, KnownFacts, Unknown
from ftc.runtime.vision.image_tokens import Rule, limit_pixels, make_rule
from ftc.spec.sections import Spec


def limit_images(facts: KnownFacts, place: int) -> KnownFacts:
    """Return the facts with the limit of this place in `pictures.sizes`, and its lengths."""
    data = facts.data
    if data.pictures is None or place == 0:
        return facts
    pictures = replace(data.pictures, sizes=data.pictures.sizes[place:])
    lengths = data.limited_lengths[place:]
    limited = replace(data, pictures=pictures, lengths=lengths[0], limited_lengths=lengths)
    return replace(facts, data=limited)


def find_rule(facts: Facts, plan: Plan | None) -> Rule | None:
    """Return the rule of the processor under the plan's limit; None for rows without images."""
    model, data = facts.model, facts.data
    if isinstance(model, Unknown) or isinstance(data, Unknown) or plan is None:
        return None
    limit, vision = plan.decisions.rows.max_pixels, model.vision
    if limit is None or data.pictures is None or vision is None or not vision.rule:
        return None
    return limit_pixels(make_rule(vision.rule), limit.value)


def planned_facts(facts: KnownFacts, plan: Plan) -> KnownFacts:
    """Return the facts with the lengths that rows have under the plan's limit."""
    limit, pictures = plan.decisions.rows.max_pixels, facts.data.pictures
    if limit is None or pictures is None:
        return facts
    places = [size.max_pixels for size in pictures.sizes]
    return limit_images(facts, places.index(limit.value)) if limit.value in places else facts


def choose_limit(
    spec: Spec, facts: KnownFacts, make: Callable[[Spec, KnownFacts], Plan]
) -> tuple[KnownFacts, Plan]:
    """Return the plan with the largest images that fit in memory and in the model's context.

    If none fit, the images are as small as the limits allow. The limits are in the facts.
    """
    tried: list[tuple[KnownFacts, Plan]] = []
    for limited, size in _limits(facts):
        plan = make(spec, limited)
        tried.append((limited, plan))
        if plan.memory.fits is not False and not _is_too_long(size, facts):
            break
    else:
        if not tried:
            return facts, make(spec, facts)
    limited, plan = tried[-1]
    decision = _explain(spec, facts, [each for _, each in tried])
    decided = plan.decisions
    rows = replace(decided.rows, max_pixels=decision)
    return limited, replace(plan, decisions=replace(decided, rows=rows))


def _limits(facts: KnownFacts) -> Iterator[tuple[KnownFacts, ImageSizes]]:
    pictures = facts.data.pictures
    for place, size in enumerate(pictures.sizes if pictures is not None else ()):
        yield limit_images(facts, place), size


def _is_too_long(size: ImageSizes, facts: KnownFacts) -> bool:
    """Return whether the images of a row leave no room for its texts in the model's context."""
    return size.row_tokens_max >= facts.model.context_tokens


def _explain(spec: Spec, facts: KnownFacts, tried: list[Plan]) -> Decision[int]:
    """Return the limit of the last plan, and why it is not the one before."""
    pictures = facts.data.pictures
    sizes = pictures.sizes if pictures is not None else ()
    size = sizes[len(tried) - 1]
    if spec.data.images.max_pixels != "auto":
        return keep(spec, "/data/images/max_pixels", size.max_pixels)
    values: dict[str, object] = {"tokens": size.tokens_max, "mean": round(size.tokens_mean)}
    if len(tried) == 1:
        return derived(size.max_pixels, "max_pixels.processor", **values)
    before = sizes[len(tried) - 2]
    values |= {"larger": before.max_pixels, "more": before.tokens_max}
    if _is_too_long(before, facts):
        values["context"] = facts.model.context_tokens
        return derived(size.max_pixels, "max_pixels.context", **values)
    fits = tried[-1].memory.fits is not False
    values["needed_bytes"] = tried[-2].memory.device_bytes
    values["capacity_bytes"] = tried[-2].memory.capacity_bytes or 0
    key = "max_pixels.memory" if fits else "max_pixels.least"
    return derived(size.max_pixels, key, **values)
