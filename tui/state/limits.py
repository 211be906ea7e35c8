"""Compares a plan with the user's limits on time and cost."""

from collections.abc import Iterator

from ftc.compiler.plan.plan import Plan
from ftc.tui.languages.voice import Voice
from ftc.tui.state.line import Line
from ftc.tui.understanding.reading import Limit


def is_over(limit: Limit, plan: Plan) -> bool:
    """Return whether a plan takes longer or costs more than the limit."""
    late = limit.seconds is not None and plan.time is not None
    if late and plan.time is not None and plan.time.total_seconds > (limit.seconds or 0.0):
        return True
    return limit.money is not None and plan.cost is not None and plan.cost.total > limit.money


def tell_limit(limit: Limit, plan: Plan | None, voice: Voice) -> Iterator[Line]:
    """Yield a line for each limit: the plan's value, or that there is no plan yet."""
    if limit.seconds is not None:
        yield Line(who="ftc", text=_tell_time(limit.seconds, plan, voice))
    if limit.money is not None:
        yield Line(who="ftc", text=_tell_cost(limit.money, plan, voice))


def _tell_time(seconds: float, plan: Plan | None, voice: Voice) -> str:
    span = voice.duration
    if plan is None or plan.time is None:
        return voice.say("limit.kept", limit=span(seconds))
    time = plan.time
    values = {
        "limit": span(seconds),
        "time": span(time.total_seconds),
        "high": span(time.high_seconds),
    }
    if time.total_seconds > seconds:
        return voice.say("limit.time.over", **values)
    return voice.say(
        "limit.time.close" if time.high_seconds > seconds else "limit.time.below", **values
    )


def _tell_cost(money: float, plan: Plan | None, voice: Voice) -> str:
    limit = voice.show(money)
    if plan is None or plan.time is None:
        return voice.say("limit.cost.kept", limit=limit)
    if plan.cost is None:
        return voice.say(
            "limit.cost.no_price", limit=limit, time=voice.duration(plan.time.total_seconds)
        )
    key = "over" if plan.cost.total > money else "close" if plan.cost.high > money else "below"
    cost, high = (voice.show(round(value, 2)) for value in (plan.cost.total, plan.cost.high))
    return voice.say(f"limit.cost.{key}", limit=limit, cost=cost, high=high)
