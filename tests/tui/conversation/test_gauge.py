"""The bars of the memory: parts, one scale, and the limit, on a real plan."""

from ftc.tui.session.gauge import LIMIT, MARKS, draw, make_gauge
from ftc.tui.session.session import Session

EVERYTHING = "llama 3.1 8b on my 4090, tickets.csv, I need a q4 gguf for ollama"


def test_a_bar_has_the_sizes_of_the_plan(session: Session) -> None:
    """The parts of the largest phase add up to what a device needs."""
    session.reply(EVERYTHING)
    session.reply("lora")
    plan = session.situation.plan
    assert plan is not None
    gauge = make_gauge(plan.memory)
    assert gauge is not None
    assert gauge.largest.total_bytes == plan.memory.device_bytes
    parts = dict(gauge.largest.parts)
    assert parts["weights"] > 14 * 2**30
    assert parts["optimizer"] == plan.memory.optimizer_bytes > 0
    assert (
        parts["weights"] + parts["optimizer"]
        == (plan.memory.parts[plan.memory.largest_phase]["static"])
    )
    for bar in gauge.bars:
        drawn = "".join(cells for _, cells in draw(gauge, bar, 40))
        assert len(drawn) == 40
        assert drawn.index(LIMIT) == 39


def test_what_does_not_fit_goes_beyond_the_limit(session: Session) -> None:
    """The mark of the limit stands at its share of the scale, and parts follow it."""
    session.reply(EVERYTHING)
    session.reply("full fine-tuning")
    plan = session.situation.plan
    assert plan is not None
    assert plan.memory.capacity_bytes is not None
    gauge = make_gauge(plan.memory)
    assert gauge is not None
    drawn = "".join(cells for _, cells in draw(gauge, gauge.largest, 61))
    at = drawn.index(LIMIT)
    assert at == round(plan.memory.capacity_bytes / gauge.scale_bytes * 60)
    assert set(drawn[at + 1 :]) <= set(MARKS.values())


def test_the_marks_are_told_apart_without_colours() -> None:
    """No two parts have one mark."""
    assert len(set(MARKS.values())) == len(MARKS)
