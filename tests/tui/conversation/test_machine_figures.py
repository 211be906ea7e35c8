"""Questions about time, cost and memory that name a machine are planned for that machine."""

import pytest

from ftc.tui.session.session import Session
from ftc.tui.understanding.machines.supposed import find_card, read_supposed
from ftc.tui.understanding.reading import Change

pytestmark = pytest.mark.prove

OWN = {"hardware": {"gpu": "RTX-4090"}}


def told(session: Session, text: str) -> str:
    """Return the whole reply to a message."""
    return "\n".join(line.text for line in session.reply(text))


@pytest.mark.parametrize(
    ("text", "gpu", "count"),
    [
        ("how long would it take on a T4?", "T4", 1),
        ("how long on an H100?", "H100-SXM5-80GB", 1),
        ("how much memory would it use on 2 L40S?", "L40S", 2),
        ("quant trigaria en una T4?", "T4", 1),
        ("cuánto tardaría en una H100?", "H100-SXM5-80GB", 1),
        ("how long on my cpu?", "cpu", 1),
    ],
)
def test_the_figures_are_for_the_machine_of_the_question(
    whole: Session, text: str, gpu: str, count: int
) -> None:
    """The reply names the machine, and the draft keeps its own."""
    before = whole.draft
    changes = tuple(
        Change(pointer=f"/hardware/{name}", value=value, words="")
        for name, value in (("gpu", gpu), ("count", count))
    )
    plan = whole.observer.look(before.changed(changes), offers=False).plan
    reply = told(whole, text)
    assert plan is not None
    assert plan.time is not None
    assert f"hardware.gpu = {gpu}" in reply
    figure = (
        whole.voice.size(plan.memory.device_bytes)
        if "memory" in text
        else whole.voice.duration(plan.time.training_seconds)
    )
    assert figure in reply
    assert whole.draft == before


def test_a_cost_is_that_of_the_named_machine(whole: Session) -> None:
    """The price of the draft's GPU is not that of another one."""
    whole.reply("the 4090 costs 0.4 an hour")
    assert whole.draft.get("/hardware/price_per_hour") == 0.4
    reply = told(whole, "how much would it cost on an H100 at 2.5 dollars an hour?")
    price = Change(pointer="/hardware/price_per_hour", value=2.5, words="")
    gpu = Change(pointer="/hardware/gpu", value="H100-SXM5-80GB", words="")
    plan = whole.observer.look(whole.draft.changed((gpu, price)), offers=False).plan
    assert plan is not None
    assert plan.cost is not None
    assert f"About {round(plan.cost.total, 2)} in the currency" in reply
    assert "hardware.price_per_hour = 2" in told(whole, "what would it cost on an H100?")


@pytest.mark.parametrize(
    "text",
    [
        "what if I only had 8 GB of vram?",
        "i si només tingués 8 GB de vram?",
        "¿y si solo tuviera 8 GB de VRAM?",
    ],
)
def test_supposed_memory_is_not_the_memory_of_the_draft(whole: Session, text: str) -> None:
    """The plan is that of a usual GPU with this memory."""
    before = whole.draft
    reply = told(whole, text)
    assert "8 GiB" in reply
    assert "RTX-3070" in reply
    assert "24" not in reply
    assert whole.draft == before


def test_the_own_machine_is_not_proposed(whole: Session) -> None:
    """A question whether the draft's values fit is answered, and nothing waits for a yes."""
    assert told(whole, "will this fit on the 4090?").startswith("It already is: fits")
    assert not whole.proposal


def test_two_machines_are_compared(whole: Session) -> None:
    """A question without an own value gets the plan of each."""
    reply = told(whole, "is it faster on an H100 or on an A100?")
    assert "hardware.gpu = H100-SXM5-80GB" in reply
    assert "hardware.gpu = A100-SXM4-40GB" in reply


def test_what_is_no_other_machine() -> None:
    """The draft's own GPU, main memory and disk space suppose nothing."""
    assert not read_supposed("how long does it take?", OWN)
    assert not read_supposed("how long on the 4090?", OWN)
    assert not read_supposed("how long with 64 GB of RAM?", OWN)
    assert not read_supposed("how long with 500 GB of disk?", OWN)


def test_several_machines_and_sizes() -> None:
    """Each machine has its figures; of a name with two sizes, each size has."""
    two = read_supposed("how long on a T4 and on an L4?", OWN)
    assert [each.changes[0].value for each in two] == ["T4", "L4"]
    sizes = read_supposed("how long on an A100?", OWN)
    assert [each.changes[0].value for each in sizes] == ["A100-SXM4-40GB", "A100-SXM4-80GB"]
    assert find_card(1) is None
